package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// kindsServed are the answers of an API server that knows ConfigMaps and
// Namespaces.
var kindsServed = map[string]string{
	"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["get","list","watch","delete"]},
		{"name":"namespaces","namespaced":false,"kind":"Namespace","verbs":["get","list","watch","delete"]}]}`,
	"/apis/apiregistration.k8s.io/v1/apiservices": `{"kind":"PartialObjectMetadataList",
		"apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}`,
}

// newTestLedger returns a ledger in which ConfigMap precious of namespace ns is
// protected, and nothing else.
func newTestLedger(tb testing.TB) *ledger {
	tb.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := kindsServed[r.URL.Path]
		if !ok {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	tb.Cleanup(server.Close)
	watcher, err := relation.NewWatcher(&rest.Config{Host: server.URL}, logr.Discard())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(watcher.Close)
	if err := watcher.Refresh(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	l := newLedger(watcher)
	l.admission = true
	l.get = func(object.ID) usage { return nil }
	l.grants = func(string) []kinshipv1alpha1.ReferenceGrant { return nil }
	l.Declarer, l.Target = func(object.ID) {}, func(object.ID) {}
	l.Mark = &guard.Lock{Label: lockLabel, Value: lockValue, Hold: l.Hold, Watcher: watcher}
	u := &protectionv1beta1.Usage{Spec: sharedv1alpha1.UsageSpec{Of: sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: "precious"},
	}, Reason: new("it is precious")}}
	u.Namespace, u.Name, u.UID, u.Finalizers = "ns", "keep", "uid", []string{finalizer.Name}
	l.Declared.Set(identify(u), extract(u, watcher))
	if len(l.Declared.Declared(identify(u))) == 0 {
		tb.Fatal("nothing is protected")
	}
	return l
}

// yes is an API server that allows everything.
type yes struct {
	authorizationclient.SubjectAccessReviewInterface
}

func (yes) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	review.Status.Allowed = true
	return review, nil
}

// silent is an API server that does not answer.
type silent struct{ client.Reader }

func (silent) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no answer")
}

func newTestUsageHandler(tb testing.TB) *usageHandler {
	tb.Helper()
	return &usageHandler{
		ledger: newTestLedger(tb), reviewer: authorise.NewReviewer(yes{}), operators: pack.Operators{"operator"},
	}
}

func newTestDeletionHandler(tb testing.TB) *deletionHandler {
	tb.Helper()
	l := newTestLedger(tb)
	return &deletionHandler{
		ledger: l, lock: l.Mark.(*guard.Lock), live: silent{}, get: func(object.ID) usage { return nil },
		reviewer: authorise.NewReviewer(yes{}), clock: clock.RealClock{}, metrics: newMetrics(),
		operators: pack.Operators{"operator"}, expiry: time.Hour, origin: proven{},
	}
}

// proven is the pack.Origin of a test that takes the place of the API server.
type proven struct{}

func (proven) Prove(context.Context, pack.Repeat) pack.Proof { return pack.Proven }

func request(operation admissionv1.Operation, gk schema.GroupKind, obj, old, options []byte) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: operation, Namespace: "ns",
		Kind:   metav1.GroupVersionKind{Group: gk.Group, Version: "v1", Kind: gk.Kind},
		Object: apiruntime.RawExtension{Raw: obj}, OldObject: apiruntime.RawExtension{Raw: old},
		Options: apiruntime.RawExtension{Raw: options}, UserInfo: authenticationv1.UserInfo{Username: "somebody"},
	}}
}

const plainUsage = `{"metadata":{"name":"u","namespace":"ns","annotations":{"a":"b"}},"spec":{"of":{"apiVersion":"v1",
	"kind":"ConfigMap","resourceRef":{"name":"a"}},"by":{"apiVersion":"v1","kind":"ConfigMap",
	"resourceSelector":{"matchLabels":{"a":"b"},"matchAll":true}},"reason":"because"},"status":{"observedGeneration":-1}}`

// FuzzJudge passes arbitrary objects to the handlers of Usages. There is an answer for each
// object, and a patch changes its metadata only.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		plainUsage, `{}`, `null`, `[]`, `{"metadata":null}`, `{"metadata":[]}`, `{"spec":{"by":null}}`, ``,
	} {
		f.Add([]byte(seed), []byte(plainUsage), uint8(0))
		f.Add([]byte(seed), []byte(seed), uint8(1))
	}
	v := newTestUsageHandler(f)
	f.Fuzz(func(t *testing.T, obj, old []byte, which uint8) {
		operation := admissionv1.Create
		if which%2 == 1 {
			operation = admissionv1.Update
		}
		req := request(operation, kinds[int(which/2)%len(kinds)].GroupKind(), obj, old, nil)
		response := v.Default(t.Context(), req)
		for _, patch := range response.Patches {
			if !strings.HasPrefix(patch.Path, "/metadata/") {
				t.Errorf("the answer changes %s", patch.Path)
			}
		}
		if response.Allowed && !json.Valid(obj) {
			t.Errorf("%q is no object", obj)
		}
		v.Handle(t.Context(), req)
	})
}

// FuzzRefuse passes arbitrary objects and options to the handler of deletions. The handler
// never allows the deletion of a protected object, or of a locked object without a known Usage.
func FuzzRefuse(f *testing.F) {
	for _, obj := range []string{
		`{"metadata":{"name":"precious","namespace":"ns"}}`,
		`{"metadata":{"name":"other","labels":{"crossplane.io/in-use":"true"}}}`,
		`{"metadata":{"name":"other"}}`, `{}`, `null`, `[]`, ``, `{"metadata":{"labels":[]}}`,
		`{"metadata":{"name":"precious","namespace":"ns","annotations":{"kinship.dev/override-usage":",/,"}}}`,
	} {
		f.Add([]byte(obj), []byte(`{"propagationPolicy":"Foreground"}`), "ConfigMap", "DELETE")
		f.Add([]byte(obj), []byte(nil), "ConfigMap", "DELETE")
		f.Add([]byte(obj), []byte(`{"propagationPolicy":3}`), "", "CREATE")
	}
	h := newTestDeletionHandler(f)
	f.Fuzz(func(t *testing.T, old, options []byte, kind, operation string) {
		req := request(admissionv1.Operation(operation), schema.GroupKind{Kind: kind}, nil, old, options)
		response := h.Handle(t.Context(), req)
		if !response.Allowed {
			return
		}
		var meta metav1.PartialObjectMetadata
		if err := json.Unmarshal(old, &meta); err != nil {
			t.Fatalf("allowed to delete what is no object: %v", err)
		}
		if kind == "ConfigMap" && meta.Namespace == "ns" && meta.Name == "precious" && !overridden(meta) {
			t.Error("allowed to delete what is protected")
		}
		if kind == "ConfigMap" && meta.Labels[lockLabel] == lockValue && meta.Name != "" && !overridden(meta) {
			t.Error("allowed to delete what is locked, without an answer of the API server")
		}
	})
}

// overridden reports whether overrideAnnotation of an object names the Usage, for a user with
// all rights.
func overridden(meta metav1.PartialObjectMetadata) bool {
	return meta.Annotations[overrideAnnotation] != ""
}

// TestLargeReviews hands the largest objects that there are to the handlers, and
// some that there should not be.
func TestLargeReviews(t *testing.T) {
	const size, memory = 3 << 20, 256 << 20
	fill := func(part string, n int) string { return strings.TrimSuffix(strings.Repeat(part+",", n), ",") }
	nested := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	v, h := newTestUsageHandler(t), newTestDeletionHandler(t)
	for name, test := range map[string]struct {
		object  string
		refused bool
	}{
		"large value": {object: fmt.Sprintf(`{"metadata":{"name":"x"},"data":{"a":%q}}`, strings.Repeat("x", size))},
		"many owners": {object: fmt.Sprintf(`{"metadata":{"ownerReferences":[%s]}}`,
			fill(`{"uid":"u","name":"n"}`, size/24))},
		"many finalizers": {object: fmt.Sprintf(`{"metadata":{"finalizers":[%s]}}`, fill(`"example.com/f"`, size/16))},
		"many labels":     {object: fmt.Sprintf(`{"metadata":{"labels":{%s}}}`, fill(`"a":"b"`, size/8))},
		"many selectors": {object: fmt.Sprintf(`{"metadata":{},"spec":{"of":{"resourceSelector":{"matchLabels":{%s}}}}}`,
			fill(`"a":"b"`, size/8))},
		"deep":             {object: nested, refused: true},
		"deep in metadata": {object: `{"metadata":{"labels":` + nested + `}}`, refused: true},
		"deep and open":    {object: strings.Repeat("[", size), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(test.object)
			measured := func(handle func() admission.Response) admission.Response {
				t.Helper()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				response := handle()
				runtime.ReadMemStats(&after)
				if used := after.TotalAlloc - before.TotalAlloc; used > memory {
					t.Errorf("%d bytes took %d MiB of memory, want at most %d", len(raw), used>>20, memory>>20)
				}
				return response
			}
			usage, configMap := kinds[0].GroupKind(), schema.GroupKind{Kind: "ConfigMap"}
			judged := measured(func() admission.Response {
				return v.Default(t.Context(), request(admissionv1.Create, usage, raw, nil, nil))
			})
			measured(func() admission.Response {
				return v.Handle(t.Context(), request(admissionv1.Update, usage, raw, raw, nil))
			})
			deleted := measured(func() admission.Response {
				return h.Handle(t.Context(), request(admissionv1.Delete, configMap, nil, raw, nil))
			})
			if test.refused && (judged.Allowed || deleted.Allowed) {
				t.Errorf("judged %t, deleted %t, want both refused", judged.Allowed, deleted.Allowed)
			}
			if !test.refused && !deleted.Allowed {
				t.Errorf("deletion was refused: %v", deleted.Result)
			}
		})
	}
}
