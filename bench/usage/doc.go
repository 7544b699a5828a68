// Usage measures an implementation of the Usage API from outside: by kubeconfig, with group,
// version and kind as flags, and without any code of Kinship. Usage can measure each of the three
// APIs of any implementation, so that figures can be compared. bench/README.md explains each
// figure.
//
//	go run ./bench/usage --kubeconfig FILE --operator-pid PID
//	go run ./bench/usage --local
//
// # Parts
//
// A [scenario] is a function that acts on a [rig] and adds to its [report]. The rig has the
// clients, two observers and a meter:
//
//   - an [observer] is one watch of one kind. A scenario registers an [expectation] before the
//     request that causes the change, and gets the time at which the watch showed the change: no
//     latency is found by polling;
//   - the [meter] takes a [reading] of the API server's request counters, of this program's own
//     requests, and of the CPU time and memory of the processes. The difference of two readings
//     is the cost of a scenario.
//
// A [population] is a number of Usages, each with its pair of objects. The plan in plan.go raises
// the number step by step and runs the scenarios at each step.
package main
