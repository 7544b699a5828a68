// Openstack measures how long an implementation of openstack.k-orc.cloud takes to create and to
// delete a tree of networks. The program compares the time with the critical path and with a plain
// HTTP client, and counts the calls to OpenStack and the requests to the API server.
//
//	go run ./bench/openstack                                 # the emulator, at 0 and 200 ms
//	go run ./bench/openstack --clouds FILE --per-router 0    # a real cloud
//	go run ./bench/openstack --scenarios memory --operator-args --openstack-qps=1000
//	go run ./bench/openstack --kubeconfig FILE               # any implementation in that cluster
//
// Without --kubeconfig, the program starts a control plane of its own and bin/kinship as a process;
// without --clouds, the program starts an emulator.Server. The program uses only the API of the
// implementation.
//
// In the scenario tree, each Network has a Subnet with a RouterInterface and some Ports. rig.create
// creates all objects at once, dependents first, and waits until a tracker has seen all objects as
// Available. rig.remove deletes all objects at once, dependencies first, and waits until the
// tracker has seen the last deletion. The program prints:
//
//   - seconds for creation and deletion, and the critical path: the depth of the tree times the
//     duration of one call without concurrent calls;
//   - seconds of a plain client with four concurrent calls, for the same objects in a known order.
//     The plain client runs before and after, since caches warm up. Before the first
//     measurement, operator and plain client have logged in and created eight Networks at once:
//     then each process of a real service has validated the token with Keystone;
//   - calls per object, with the emulator, and writes of other clients, by
//     apiserver_request_total.
//
// In the scenario wake, one Subnet after the other waits for a Network that is created later. The
// program prints the time from the Network's Available until the Subnet's Available.
//
// In the scenario memory, the program creates --objects objects. The program prints the memory of
// the operator without objects, with objects, and with 20 MB of Secrets that no object names, and
// the requests during --idle.
//
// In the scenario beside, the program creates one Network after the other, alone and beside 40
// Networks of a cloud that hangs, is slow or answers 429. The program prints the p99 of both and
// their ratio.
//
// elements.go has the tree, rig.go the control plane, operator and cloud, tracker.go the watches,
// plain.go the plain client, and tree.go, wake.go, beside.go and memory.go the scenarios.
package main
