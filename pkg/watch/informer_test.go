package watch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestHandler hands each kind of event to a handler, as an informer does.
func TestHandler(t *testing.T) {
	var got []string
	h := watch.Handler(func(c watch.Change[client.Object]) {
		name := func(o client.Object) string {
			if o == nil {
				return "-"
			}
			return o.GetName()
		}
		got = append(got, fmt.Sprintf("%s %s came %t went %t missed %t",
			name(c.Old), name(c.New), c.Created(), c.Deleted(), c.Missed))
	})
	one, two := named("one"), named("two")
	h.OnAdd(one, true)
	h.OnUpdate(one, two)
	h.OnDelete(two)
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "one", Obj: one})
	want := []string{
		"- one came true went false missed false",
		"one two came false went false missed false",
		"two - came false went true missed false",
		"one - came false went true missed true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func named(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// removing is a cache whose first WaitForCacheSync ends with the removal of an informer.
type removing struct {
	cache.Cache
	obj   client.Object
	calls int
}

func (r *removing) WaitForCacheSync(ctx context.Context) bool {
	synced := r.Cache.WaitForCacheSync(ctx)
	if r.calls++; r.calls == 1 {
		if err := r.RemoveInformer(ctx, r.obj); err != nil {
			panic(err)
		}
	}
	return synced
}

// TestWaitForSync waits for no informer that was removed before it has synced.
func TestWaitForSync(t *testing.T) {
	secrets := &metav1.PartialObjectMetadata{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	c, err := cache.New(testenv.As(t, "nobody"), cache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// The user nobody may not list Secrets, so the informer never syncs.
	if _, err := watch.Open(t.Context(), c, schema.GroupKind{Kind: "Secret"}, secrets); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	if !watch.WaitForSync(ctx, &removing{Cache: c, obj: secrets}) {
		t.Error("WaitForSync waits for an informer that was removed")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if watch.WaitForSync(ctx, c) {
		t.Error("WaitForSync returned true after the end of the context")
	}
}
