package catalogue

// Path is a place in an ARM body: a JSON pointer in which the segment "*" stands for each element of a list and each
// key of a map, such as /identity/userAssignedIdentities/*/principalId. The case of letters does not count.
type Path string

// Action is a POST request to a resource whose answer tells something, such as listKeys.
type Action struct {
	// Name is the last segment of the request's path.
	Name string
	// Sensitive are the secrets that Azure declares in the answer. Azure declares few of the secrets in answers.
	Sensitive []Path
}
