// Package operator runs the operator for tests, against the control plane of
// testenv.
//
//	func TestMain(m *testing.M) {
//		testenv.Main(m, testenv.CRDs("../../config/crd", "testdata/crd"))
//	}
//
//	func TestSomething(t *testing.T) {
//		operator.Start(t)
//		namespace := testenv.Namespace(t)
//		...
//	}
//
// [Start] runs it inside the test binary: a debugger and the race detector see
// it. [Exec] runs it as a process of its own, which is the test binary once
// more, so that a test can kill it the way a node dies. Both return when
// Usages are answered, and both end it after the test.
//
// # What to know
//
// Start the operator before anything that the test's end removes, namespaces
// above all: cleanups run backwards, and while no operator answers, nothing that
// carries a lock can be deleted. The webhook configuration stays behind for the
// same reason that it does in life; the next operator points it at itself.
//
// Tests that share an operator run one after the other or in parallel; tests
// that start their own must not run in parallel, because a cluster has one
// operator, or several replicas: --leader-elect, and all but one without --install.
//
// Give testenv the definitions in config/crd, as above: the garbage collector
// learns of kinds that come after its start only half a minute later, and until
// then no Usage goes with its using object by owner reference.
package operator
