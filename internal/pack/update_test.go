package pack_test

import (
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/pack"
)

// TestUpdates tells which updates only remove finalizers and owner references, and which keep the spec.
func TestUpdates(t *testing.T) {
	const (
		old = `{"metadata":{"name":"a","resourceVersion":"1","finalizers":["orphan","x"],"labels":{"l":"1"},
			"ownerReferences":[{"uid":"1","name":"o","blockOwnerDeletion":true},{"uid":"2","name":"p"}]},"spec":{"a":1}}`
		bare = `{"metadata":{"name":"a","resourceVersion":"2","labels":{"l":"1"}},"spec":{"a":1}}`
	)
	for name, c := range map[string]struct {
		operation         admissionv1.Operation
		old, now          string
		releases, keepsIt bool
	}{
		"all are removed": {admissionv1.Update, old, bare, true, true},
		"a finalizer and an owner are removed": {admissionv1.Update, old, `{"metadata":{"name":"a",
			"finalizers":["x"],"labels":{"l":"1"},"managedFields":[{}],
			"ownerReferences":[{"uid":"1","name":"o","blockOwnerDeletion":false}]},"spec":{"a":1}}`, true, true},
		"a finalizer is added": {admissionv1.Update, bare, `{"metadata":{"name":"a","labels":{"l":"1"},"finalizers":["x"]},
			"spec":{"a":1}}`, false, true},
		"an owner is added": {admissionv1.Update, bare, `{"metadata":{"name":"a","labels":{"l":"1"},
			"ownerReferences":[{"uid":"1","name":"o"}]},"spec":{"a":1}}`, false, true},
		"an owner becomes the controller": {admissionv1.Update, old, `{"metadata":{"name":"a","labels":{"l":"1"},
			"ownerReferences":[{"uid":"1","name":"o","controller":true}]},"spec":{"a":1}}`, false, true},
		"a label is removed": {admissionv1.Update, old, `{"metadata":{"name":"a"},"spec":{"a":1}}`, false, true},
		"the spec changes": {admissionv1.Update, old, `{"metadata":{"name":"a","labels":{"l":"1"}},
			"spec":{"a":2}}`, false, false},
		"other content changes": {admissionv1.Update, old, `{"metadata":{"name":"a","labels":{"l":"1"}},
			"spec":{"a":1},"data":{}}`, false, true},
		"a creation": {admissionv1.Create, "", bare, false, false},
		"no JSON":    {admissionv1.Update, "{", bare, false, false},
	} {
		req := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: c.operation,
			OldObject: runtime.RawExtension{Raw: []byte(c.old)}, Object: runtime.RawExtension{Raw: []byte(c.now)},
		}}
		if got := pack.OnlyReleases(req); got != c.releases {
			t.Errorf("%s: OnlyReleases is %t", name, got)
		}
		if got := pack.KeepsSpec(req); got != c.keepsIt {
			t.Errorf("%s: KeepsSpec is %t", name, got)
		}
	}
}
