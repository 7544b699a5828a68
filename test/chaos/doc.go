// Package chaos injects faults into the running operator and its dependencies: the
// operator is killed, paused and replaced, its certificate changes, the API server
// restarts, etcd is paused, responses are lost. Every test checks the same: no
// protected object is deleted too early, no object stays behind, and the operator
// recovers without manual intervention.
//
// The tests are small enough for every change. CHAOS_SIZE multiplies the number of
// objects for a long run:
//
//	CHAOS_SIZE=5 go test -race -timeout 30m ./test/chaos
package chaos
