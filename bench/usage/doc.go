// Usage measures an implementation of the Usage API from outside: by kubeconfig,
// with the group, version and kind as flags, and with nothing of Kinship in it.
// Any of the three APIs of any implementation can be measured with it, so that
// figures can be compared. What each figure means is in bench/README.md.
//
//	go run ./bench/usage --kubeconfig FILE --operator-pid PID
//	go run ./bench/usage --local
//
// # Rooms
//
// A [scenario] is a function that acts on a [rig] and adds to its [report]. The
// rig holds the clients, two observers and a meter:
//
//   - an [observer] is one watch on one kind. Who waits for a change says so
//     before he causes it, and gets the time at which the watch delivered it:
//     no latency is found by polling;
//   - the [meter] takes a [reading] of the API server's request counters, of what
//     this program sent itself, and of the processes' CPU time and memory. The
//     difference of two readings is what a scenario cost.
//
// [population] is a number of Usages, each with its pair of objects. The plan in
// plan.go raises it step by step and runs the scenarios at each step.
package main
