// Package builtin declares the references of Kubernetes' own kinds as relations: a Pod names
// Secrets, an Ingress names Services, a RoleBinding names a Role.
//
// Each reference is a field path, a kind and a role ([relation.Reference]). The references of a
// Pod's spec stand here once, and hold for Pods and for each kind with a Pod template.
//
// Nobody enforces these relations by them being declared here. They answer questions: who uses
// a Secret, and for which missing ConfigMap does a Pod wait.
//
// # What is left out
//
// A field is left out for one of these reasons, and the package's test names the reason of each:
// a status, which repeats what a spec says; a name inside of the object itself, such as a
// container's; a selector of an owner for objects that have owner references anyway; and a name
// that no kind of the cluster has, such as a scheduler's.
package builtin
