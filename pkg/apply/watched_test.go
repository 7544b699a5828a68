package apply_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// kept is the part of a ConfigMap that a store keeps.
type kept struct {
	unstructured.Unstructured

	data string
}

// TestWatched: the stores of a Watcher are the View of an Applier for any kind. What did not change is
// not written again, what another client changed is, and a change of a field that nobody applied
// concerns no parent.
func TestWatched(t *testing.T) {
	w := newWorld(t)
	watcher, err := relation.NewWatcher(testenv.Config(t), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	watcher.Keep(func(u *unstructured.Unstructured) client.Object {
		part := &kept{}
		part.data, _, _ = unstructured.NestedString(u.Object, "data", "key")
		part.SetGroupVersionKind(u.GroupVersionKind())
		meta := apply.Trim(u, func(manager string) bool { return manager == fieldOwner })
		part.SetUID(meta.UID)
		part.SetResourceVersion(meta.ResourceVersion)
		part.SetManagedFields(meta.ManagedFields)
		part.SetOwnerReferences(meta.OwnerReferences)
		return part
	})
	concerning := make(chan bool, 1000)
	id := object.ID{Kind: "ConfigMap", Namespace: w.ns, Name: "child"}
	watcher.OnObject(func(c relation.Change) {
		if c.Object().ID == id {
			concerning <- apply.Concerns(c)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- watcher.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	watcher.Use(object.ID{Name: "test"}, configMaps.GroupKind())
	testenv.Eventually(t, func() error {
		if !watcher.Ready(configMaps.GroupKind()) {
			return fmt.Errorf("ConfigMaps are not listed")
		}
		return nil
	})
	l := w.life(nil)
	l.View = apply.Watched{Watcher: watcher}
	want := w.configMap("child", 0, "key=1")
	l.must(want)
	if !<-concerning {
		t.Error("the creation concerns no parent")
	}
	sees := func(data string) {
		t.Helper()
		testenv.Eventually(t, func() error {
			obj, _ := watcher.Get(id)
			if obj.Content == nil || obj.Content.(*kept).data != data {
				return fmt.Errorf("the store has %v, want %s", obj.Content, data)
			}
			return nil
		})
	}
	sees("1")
	if got := l.must(want).Changes; !strings.Contains(fmt.Sprint(got), string(apply.Unchanged)) {
		t.Errorf("applied again: %v", got)
	}
	edit := func(patch string, concerns bool) {
		t.Helper()
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(configMaps)
		u.SetNamespace(w.ns)
		u.SetName("child")
		if err := w.c.Patch(t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		if got := <-concerning; got != concerns {
			t.Errorf("%s concerns the parent: %t", patch, got)
		}
	}
	edit(`{"data":{"foreign":"x"}}`, false)
	edit(`{"data":{"key":"2"}}`, true)
	sees("2")
	l.must(want)
	sees("1")
}
