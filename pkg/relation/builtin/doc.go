// Package builtin declares the references of Kubernetes' own kinds as relations: a Pod names
// Secrets, an Ingress names Services, a RoleBinding names a Role.
//
// Each reference is a field path, a kind and a role ([relation.Reference]). The references of a
// PodSpec are declared once, and hold for Pods and for each kind with a PodTemplateSpec.
//
// The package only declares these relations, and no controller enforces them. They answer
// questions: which objects use Secret db (who-uses), and which ConfigMap a Pod waits for (why).
//
// # What is left out
//
// A field is left out for one of these reasons, and excuses_test.go names the reason of each field:
// a field in status repeats the spec; a name inside the object itself, such as
// spec.containers[*].name; the selector of an owner, if the selected objects have ownerReferences
// (spec.selector of a Deployment); and a name that is no object of the cluster, such as
// spec.schedulerName.
package builtin
