// Package usage tests what users see of deletion protection and ordering, with
// the real operator on a real API server.
//
// Every row of the table "Better than what exists" in specs/usage.md is a
// subtest of [TestUsage], named after the row. They share one operator and run
// side by side, each in a namespace of its own; those that count the operator's
// requests, or need quiet, run before the others. Tests that end the operator
// are tests of their own (restart_test.go).
//
// The operator reaches the API server through a proxy (proxy_test.go), which
// knows every request that it sends and can hold one back, so that a test
// decides who wins a race.
package usage
