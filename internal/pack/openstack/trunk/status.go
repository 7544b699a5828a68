package trunk

// names are the fields with another name in OpenStack.
var names = map[string]string{"subports": "sub_ports"}
