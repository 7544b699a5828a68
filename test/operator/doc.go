// Package operator runs the operator for tests, against the control plane of the package testenv.
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
// [Start] runs the operator inside the test binary, visible to a debugger and the race detector.
// [Exec] runs the operator as a separate process, which is the test binary again, so that
// [Process.Kill] can end the process as a failing node would. [Start] and [Exec] return when the
// admission webhook answers for Usages, and end the operator after the test.
//
// # Rules for tests
//
// Call [Start] or [Exec] before the test creates objects that a cleanup deletes, above all before
// testenv.Namespace: cleanups run in reverse order, and without an operator the API server refuses
// every deletion of a locked object. The ValidatingWebhookConfiguration stays after the test, as
// after the end of any operator; the next operator updates its clientConfig.
//
// Tests that share an operator may run in parallel. Tests that start an operator MUST NOT run in
// parallel, because a cluster has one operator, or several replicas: with --leader-elect, and only
// one replica with --install.
//
// Pass config/crd to testenv.CRDs, as above: the garbage collector discovers a
// CustomResourceDefinition that is created after its start only 30 seconds later, and until then
// deletes no Usage by the owner reference to the using object.
package operator
