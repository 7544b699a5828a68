// Package chaos breaks what the operator depends on, and the operator, while it
// works: it is killed, frozen and replaced, its certificate changes, the API
// server restarts, etcd stands still, answers get lost. What is asked each time
// is the same: nothing protected goes too early, nothing stays behind, and
// nobody has to lend a hand.
//
// The tests are small enough for every change. CHAOS_SIZE multiplies the number
// of objects for a long run:
//
//	CHAOS_SIZE=5 go test -race -timeout 30m ./test/chaos
package chaos
