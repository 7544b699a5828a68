package pack

import "slices"

// User names of controllers of Kubernetes. They delete objects because a user deleted the owner or the namespace, and
// repeat a refused request themselves, with growing pauses.
const (
	GarbageCollector    = "system:serviceaccount:kube-system:generic-garbage-collector"
	NamespaceController = "system:serviceaccount:kube-system:namespace-controller"
	// ControllerManager is the user name of both controllers if they have no ServiceAccounts of their own.
	ControllerManager = "system:kube-controller-manager"
)

// KubernetesControllers are the user names of the garbage collector and of the namespace controller.
func KubernetesControllers() []string {
	return []string{GarbageCollector, NamespaceController, ControllerManager}
}

// IsKubernetesController reports whether a user is the garbage collector or the namespace controller.
func IsKubernetesController(user string) bool { return slices.Contains(KubernetesControllers(), user) }
