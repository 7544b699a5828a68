package revision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/revision"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks())
}

const label = "example.com/map"

// world is a History of ConfigMaps, whose data are their spec.
type world struct {
	*revision.History

	t      *testing.T
	parent *corev1.ConfigMap
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config := testenv.Config(t)
	w := &world{t: t, History: &revision.History{
		Parent: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Label: label, Limit: 2,
		Client: testenv.Client(t, nil), FieldOwner: "revision-test", Reason: "Revision",
	}}
	c, err := w.Open(t.Context(), func(o cache.Options) (cache.Cache, error) {
		factory := &watch.Factory{Scheme: scheme.Scheme, Health: &watch.Health{}}
		o.NewInformer = factory.New
		return cache.New(config, o)
	})
	w.must(err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		w.must(<-ended)
	})
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache was not filled")
	}
	w.parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: testenv.Namespace(t), Name: "web",
		Annotations: map[string]string{authorise.AuthorsAnnotation: `[{"username":"a"}]`},
	}}
	w.must(w.Client.Create(t.Context(), w.parent))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// record records a spec of the parent.
func (w *world) record(spec string, last int64) (*appsv1.ControllerRevision, reconcile.Outcome) {
	w.t.Helper()
	return w.Record(w.t.Context(), w.parent, last, map[string]string{"spec": spec}, func(data []byte) bool {
		var recorded map[string]string
		return json.Unmarshal(data, &recorded) == nil && recorded["spec"] == spec
	})
}

// await waits until the cache has revisions of the parent with some names.
func (w *world) await(names ...string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		all, err := w.Of(w.parent)
		if err != nil {
			return err
		}
		got := make([]string, 0, len(all))
		for _, r := range all {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, names) {
			return fmt.Errorf("revisions are %v, want %v", got, names)
		}
		return nil
	})
}

// made records a spec that must be in a revision of a number afterwards.
func (w *world) made(spec string, number int64) *appsv1.ControllerRevision {
	w.t.Helper()
	r, outcome := w.record(spec, number-1)
	if !outcome.IsDone() || r.Revision != number || r.Name != fmt.Sprintf("web-v%d", number) {
		w.t.Fatalf("revision %v, outcome %q, want number %d", r, outcome.Message(), number)
	}
	return r
}

// TestRecord creates a revision for each spec, with the authors of the object.
func TestRecord(t *testing.T) {
	w := newWorld(t)
	first := w.made("a", 1)
	if diff := cmp.Diff(w.parent.Annotations, first.Annotations); diff != "" {
		t.Errorf("authors (-want +got):\n%s", diff)
	}
	if !metav1.IsControlledBy(first, w.parent) || w.ParentOf(first) != object.Of(w.parent, w.Parent.GroupKind()) {
		t.Errorf("the revision is %v", first.ObjectMeta)
	}
	w.await("web-v1")
	if same, outcome := w.record("a", 0); !outcome.IsDone() || same.Name != first.Name {
		t.Errorf("the same spec has revision %v, outcome %q", same, outcome.Message())
	}
	w.made("b", 2)
	w.await("web-v1", "web-v2")
	w.made("a", 3) // A former spec is recorded again: the newest revision has the present spec.
	w.await("web-v1", "web-v2", "web-v3")
	w.must(w.Client.DeleteAllOf(t.Context(), first, client.InNamespace(w.parent.Namespace)))
	w.await()
	w.made("a", 4)
}

// TestPatchedMetadata: a patch of metadata, as the garbage collector sends for owner references, is accepted whatever
// the spec contains.
func TestPatchedMetadata(t *testing.T) {
	w := newWorld(t)
	var all struct {
		Z, A any
		Raw  json.RawMessage
	}
	all.Z, all.A = map[string]any{"z": 1, "a": "<&>\u2028"}, []any{1.5, nil, true}
	all.Raw = json.RawMessage(`{"z": 9007199254740993, "a": 1.0, "float": 1e21, "text": "\u003c"}`)
	r, outcome := w.Record(t.Context(), w.parent, 0, all, func([]byte) bool { return false })
	if !outcome.IsDone() {
		t.Fatal(outcome.Message())
	}
	if text := string(r.Data.Raw); !strings.Contains(text, "9007199254740993") {
		t.Errorf("the number is rounded: %s", text)
	}
	w.must(w.Client.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, r.UID, w.parent.UID))))
	w.must(w.Client.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`))))
}

// TestLateCache: a revision that the cache does not show yet is not made twice, and a foreign one in its
// place is named.
func TestLateCache(t *testing.T) {
	w := newWorld(t)
	foreign := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.parent.Namespace, Name: "web-v1"},
		Data:       runtime.RawExtension{Raw: []byte("{}")}, Revision: 1,
	}
	w.must(w.Client.Create(t.Context(), foreign))
	const taken = "ControllerRevision/web-v1 exists, and is no revision of ConfigMap/web: delete it"
	if _, outcome := w.record("a", 0); outcome.Message() != taken {
		t.Errorf("outcome %q, want %q", outcome.Message(), taken)
	}
	w.must(w.Client.Delete(t.Context(), foreign))
	w.made("a", 1)
	w.await("web-v1")
	for _, r := range w.GetIndexer().List() { // As if the cache were late.
		w.must(w.GetIndexer().Delete(r))
	}
	const waiting = "waiting for the cache to show ControllerRevision/web-v1"
	if _, outcome := w.record("a", 0); outcome.Message() != waiting {
		t.Errorf("outcome %q, want %q", outcome.Message(), waiting)
	}
	if same, outcome := w.record("a", 1); !outcome.IsDone() || same.Name != "web-v1" { // The status knows better.
		t.Errorf("revision %v, outcome %q, want web-v1", same, outcome.Message())
	}
}

// TestFormerRevisions: a revision that an object of the same name left is no revision of the object, and its number is
// left out.
func TestFormerRevisions(t *testing.T) {
	w := newWorld(t)
	former := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.parent.Namespace, Name: "web-v1", Labels: map[string]string{label: "web"}},
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":"a"}`)}, Revision: 1,
	}
	w.must(w.Client.Create(t.Context(), former))
	testenv.Eventually(t, func() error {
		if n := len(w.GetIndexer().List()); n != 1 {
			return fmt.Errorf("the cache has %d revisions", n)
		}
		return nil
	})
	if r, outcome := w.record("a", 0); !outcome.IsDone() || r.Name != "web-v2" || r.Revision != 2 {
		t.Errorf("revision %v, outcome %q, want web-v2", r, outcome.Message())
	}
	w.await("web-v2")
}

// TestPrune deletes the oldest revisions that nobody uses, and never the newest.
func TestPrune(t *testing.T) {
	w := newWorld(t)
	for i := range int64(5) {
		w.made(fmt.Sprint(i), i+1)
		names := make([]string, 0, i+1)
		for n := range i + 1 {
			names = append(names, fmt.Sprintf("web-v%d", n+1))
		}
		w.await(names...)
	}
	isUsed := func(r *appsv1.ControllerRevision) bool { return r.Name == "web-v2" }
	if outcome := w.Prune(t.Context(), w.parent, "web-v5", isUsed); !outcome.IsDone() {
		t.Fatal(outcome.Message())
	}
	w.await("web-v2", "web-v5")
	w.Limit = 0
	unused := func(*appsv1.ControllerRevision) bool { return false }
	if outcome := w.Prune(t.Context(), w.parent, "web-v5", unused); !outcome.IsDone() {
		t.Fatal(outcome.Message())
	}
	w.await("web-v5")
}
