// Command localcluster is a Kubernetes control plane in one file: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler, kubectl and kwok,
// built from their Go modules into a single multi-call binary.
//
// The program it becomes is chosen by the name it is called by, so symlinks
// named after each program make a directory that serves as
// KUBEBUILDER_ASSETS:
//
//	bin/k8s/kube-apiserver --version
//
// It is a module of its own because k8s.io/kubernetes needs its staging modules
// replaced one by one, which no other module of this repository should see.
//
// # Lifeline
//
// A process started with KINSHIP_LIFELINE_FD=N reads from file descriptor N and
// ends as soon as the other end is closed. The kernel closes it when the parent
// dies, however it dies, so that a killed parent leaves no orphan behind.
package main
