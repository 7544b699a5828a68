// Package usage tests deletion protection and deletion order as a user sees them, with
// the operator on a real API server.
//
// Each row of the table "Better than what exists" in specs/usage.md is a subtest of
// [TestUsage] with the name of the row. The subtests share one operator and run in
// parallel, each in its own namespace; subtests that count the operator's requests,
// or that need an idle operator, run first. Tests that end the operator are separate
// tests (restart_test.go).
//
// The operator's requests to the API server pass through a proxy (proxy_test.go) that
// records every request and can delay a chosen request, so that a test determines the
// outcome of a race.
package usage
