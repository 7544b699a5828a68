// Usage measures an implementation of the Usage API from outside: by --kubeconfig, with group,
// version and kind as flags, and without any code of the operator. Usage can measure each of the 3
// Usage APIs of any implementation, so that figures can be compared. bench/README.md explains each
// figure.
//
//	go run ./bench/usage --kubeconfig FILE --operator-pid PID
//	go run ./bench/usage --local
//
// # Parts
//
// A scenario, such as blockedScenario, is a method of [rig] that adds figures to its [report]. A
// [rig] has the clients, two observers and a [meter]:
//
//   - an [observer] is a watch of one kind. A scenario registers an [expectation] before the
//     request that causes the change, and gets the time at which the watch showed the change:
//     no latency is found by polling;
//   - the [meter] takes a [reading] of apiserver_request_total, of this program's
//     [ownRequests], and of the CPU time and memory of the processes. The difference of two
//     readings is the [cost] of a scenario.
//
// A [population] is a number of Usages, each with its [pair] of objects. rig.measure in plan.go
// raises the number of Usages by steps() and runs the scenarios at each step.
package main
