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
// [Start] runs the operator inside the test binary, visible to a debugger and the
// race detector. [Exec] runs the operator as a separate process, which is the test
// binary again, so that a test can kill the process as a failing node would. Both
// return when the admission webhook answers for Usages, and both end the operator
// after the test.
//
// # What to know
//
// Start the operator before the test creates objects that a cleanup deletes, above
// all namespaces: cleanups run in reverse order, and without an operator every
// deletion of a locked object is refused. The ValidatingWebhookConfiguration stays
// after the test, as after the end of any operator; the next operator updates its
// clientConfig.
//
// Tests that share an operator run in sequence or in parallel. Tests that start an
// operator must not run in parallel, because a cluster has one operator, or several
// replicas: --leader-elect, and all but one without --install.
//
// Pass config/crd to testenv, as above: the garbage collector discovers a
// CustomResourceDefinition that is created after its start only half a minute later,
// and until then deletes no Usage by the owner reference to the using object.
package operator
