// Package upgrade replaces an operator by a newer one, and goes back, in a cluster with objects of
// every pack. Meanwhile clients try to delete protected objects. No protected object is deleted, and no
// object is written that was not changed.
//
// The older operator is the program in KINSHIP_PREVIOUS, which hack/previous.sh builds. Without the
// variable both operators are this program, and the test covers the exchange only. KUBEBUILDER_ASSETS
// names the programs of another version of Kubernetes, as in
//
//	make bin/k8s-1.35/localcluster
//	KUBEBUILDER_ASSETS=$PWD/bin/k8s-1.35 KINSHIP_PREVIOUS=$(hack/previous.sh) go test ./test/upgrade
package upgrade
