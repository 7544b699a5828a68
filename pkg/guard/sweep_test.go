package guard_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestLockSweeps finds locks on objects of a kind that the Watcher does not watch, and removes
// them from free objects.
func TestLockSweeps(t *testing.T) {
	c, namespace := testenv.Client(t, nil), testenv.Namespace(t)
	want := map[string]relation.Hold{"free": relation.Free, "held": relation.Held, "undecided": relation.Undecided}
	for name := range want {
		create(t, c, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{inUse: "true", "app": "web"},
		}})
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "other", Labels: map[string]string{inUse: "theirs"},
	}}
	create(t, c, other)
	metadata, writes := metadataClient(t)
	watcher, _ := startWatcher(t)
	lock := &guard.Lock{
		Label: inUse, Value: "true", FieldOwner: "guard-test", Watcher: watcher, Metadata: metadata,
		Hold: func(obj relation.Object) relation.Hold {
			if obj.ID.Namespace != namespace {
				return relation.Undecided
			}
			return want[obj.ID.Name]
		},
	}
	mapping, err := watcher.Mapping(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	if err != nil {
		t.Fatal(err)
	}
	unlisted := watch.Kind{Mapping: watch.Mapping{
		Resource: schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
	}}
	secrets := watch.Kind{Mapping: mapping}
	if err := lock.Sweep(t.Context(), []watch.Kind{unlisted, secrets}); err != nil {
		t.Fatal(err)
	}
	for name, hold := range want {
		obj := read(t, c, object.ID{Kind: "Secret", Namespace: namespace, Name: name})
		if locked := obj.Labels[inUse] != ""; locked == (hold == relation.Free) || obj.Labels["app"] != "web" {
			t.Errorf("Secret %s: hold %d, labels %v", name, hold, obj.Labels)
		}
	}
	if obj := read(t, c, object.Of(other, secret)); obj.Labels[inUse] == "" {
		t.Error("a label with another value was taken off")
	}
	before := writes.sent.Load()
	if err := lock.Sweep(t.Context(), []watch.Kind{secrets}); err != nil {
		t.Fatal(err)
	}
	if n := writes.since(before); n != 1 {
		t.Errorf("%d requests where nothing is left to do, want one list", n)
	}
}

func create(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c client.Client, id object.ID) *corev1.Secret {
	t.Helper()
	obj := &corev1.Secret{}
	if err := c.Get(t.Context(), id.NamespacedName(), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}
