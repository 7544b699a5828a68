// Openstack measures how long an implementation of openstack.k-orc.cloud takes to
// make and to delete a tree of networks, beside what is possible and beside a plain
// HTTP client, and what it costs OpenStack and the API server.
//
//	go run ./bench/openstack                                 # the emulator, at 0 and 200 ms
//	go run ./bench/openstack --clouds FILE --per-router 0    # a real cloud
//	go run ./bench/openstack --scenarios memory --operator-args --openstack-qps=1000
//	go run ./bench/openstack --kubeconfig FILE               # whatever implements the API there
//
// Unless a kubeconfig is given, it starts a control plane of its own and kinship as
// a process; unless a clouds.yaml is given, an OpenStack in memory. The implementation
// is only talked to by its API.
//
// In the scenario tree, each Network has a Subnet with a RouterInterface and some
// Ports. All objects are created at once, dependents first, until watches show that
// all are Available; then all are deleted at once, dependencies first, until they are
// gone. What is printed:
//
//   - seconds for either, and the critical path: as many calls as the tree is deep,
//     each of which takes as long as one does when nothing else happens;
//   - seconds of a plain client that has four calls under way, the same objects, in
//     an order that it knows. It goes before and after, since caches warm up. Either has
//     logged in and made eight Networks at once before anything is measured: each process
//     of a real service has asked Keystone about its token by then;
//   - calls for each object, if the cloud is the emulator, and writes of others, as
//     the API server counts them.
//
// The scenario wake has one Subnet after the other wait for a Network that comes then,
// and prints how long it takes from when that is Available until they are.
//
// The scenario memory has some thousand objects, and prints the memory of the
// operator without them, with them, and with 20 MB of Secrets that none of them names,
// and the requests while nothing happens.
//
// The scenario beside makes one Network after the other, alone and beside 40 Networks of a
// cloud that hangs, is slow or refuses calls, and prints both p99 and their ratio.
//
// elements.go is the tree, rig.go the control plane, operator and cloud, tracker.go
// what watches show, plain.go the plain client, tree.go, wake.go, beside.go and
// memory.go the scenarios.
package main
