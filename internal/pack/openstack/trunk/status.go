package trunk

// names are the fields that OpenStack calls otherwise.
var names = map[string]string{"subports": "sub_ports"}
