// Package testenv gives a test a control plane: a real API server with the
// controllers behind it, one per test binary, started by the first test that
// asks and stopped after the last.
//
//	func TestMain(m *testing.M) {
//		testenv.Main(m, testenv.CRDs("../../config/crd"), testenv.CheckLeaks())
//	}
//
//	func TestGreeting(t *testing.T) {
//		namespace := testenv.Namespace(t)
//		c := testenv.Client(t, scheme)
//		testenv.Apply(t, greeting, testenv.In(namespace))
//		testenv.Eventually(t, func() error { return isGreeted(t.Context(), c, namespace) })
//	}
//
// Tests share the control plane, so each makes a [Namespace] of its own, gives
// cluster-scoped objects names of its own, and does not assume to be alone. A
// test that pauses or restarts programs of the [Cluster] must not be parallel.
//
// Without the programs of the control plane a test fails and says what to run.
// It is never skipped: a skipped test proves nothing and looks like one that
// does.
package testenv
