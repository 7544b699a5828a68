package watch_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/watch"
)

var diaries = schema.GroupVersion{Group: "decode.example.org", Version: "v1"}

// Diary has a field time that is a [metav1.Time] in Go, and any string in the CRD: the API server
// stores Diaries that Go can't decode.
type Diary struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Time metav1.Time `json:"time"`
}

// DeepCopyObject implements runtime.Object.
func (d *Diary) DeepCopyObject() runtime.Object {
	copied := *d
	d.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DiaryList is a list of Diaries.
type DiaryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []Diary `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *DiaryList) DeepCopyObject() runtime.Object {
	all := make([]Diary, 0, len(l.Items))
	for i := range l.Items {
		all = append(all, *l.Items[i].DeepCopyObject().(*Diary))
	}
	copied := *l
	copied.Items = all
	return &copied
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: diaries.decode.example.org}
spec:
  group: decode.example.org
  names: {kind: Diary, listKind: DiaryList, plural: diaries, singular: diary}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {time: {type: string}}}}
`

const (
	oddTime  = "2030-01-01t00:00:00z" // Go can't decode the small letters.
	goodTime = "2030-01-01T00:00:00Z"
)

// patience is how long an informer may take, back-off of client-go's reflector included.
const patience = 20 * time.Second

// reader is an informer of the Diaries in one namespace.
type reader struct {
	t         *testing.T
	namespace string
	client    client.Client
	health    *watch.Health
	informer  toolscache.SharedIndexInformer
	tally     *watch.Tally // without bounds, unless a test sets them before start
	// typed and untyped count the informer's LIST requests by the type that Go decodes into.
	typed, untyped atomic.Int64
}

func newReader(t *testing.T) *reader {
	t.Helper()
	testenv.Apply(t, definition)
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(diaries, &Diary{}, &DiaryList{})
	metav1.AddToGroupVersion(scheme, diaries)
	r := &reader{
		t: t, namespace: testenv.Namespace(t), health: &watch.Health{Log: logr.Discard()},
		tally: &watch.Tally{ListPause: time.Millisecond},
	}
	c, in := testenv.ClientFor(t, testenv.Config(t), scheme), client.InNamespace(r.namespace)
	r.client = c
	objects, err := dynamic.NewForConfig(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	byOne := objects.Resource(diaries.WithResource("diaries")).Namespace(r.namespace)
	f := &watch.Factory{
		Scheme: scheme, Health: r.health, Tally: r.tally, Bounded: func(schema.GroupKind) bool { return true },
		Untyped: func(schema.GroupVersionKind, string) (toolscache.ListerWatcherWithContext, error) {
			return &toolscache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
					r.untyped.Add(1)
					return byOne.List(ctx, options)
				},
				WatchFuncWithContext: byOne.Watch,
			}, nil
		},
	}
	r.informer = f.New(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			r.typed.Add(1)
			list := &DiaryList{}
			return list, c.List(ctx, list, in, &client.ListOptions{Raw: &options})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return c.Watch(ctx, &DiaryList{}, in, &client.ListOptions{Raw: &options})
		},
	}, &Diary{}, 0, toolscache.Indexers{})
	return r
}

func (r *reader) start() {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.informer.RunWithContext(ctx)
	}()
	r.t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func (r *reader) write(name, when string) {
	r.t.Helper()
	testenv.Apply(r.t, fmt.Sprintf("{apiVersion: %s, kind: Diary, metadata: {name: %s}, time: %q}", diaries, name, when),
		testenv.In(r.namespace))
}

// reads waits until the informer holds the named Diaries, and until the Health counts the
// unreadable Diaries.
func (r *reader) reads(unreadable int, names ...string) {
	r.t.Helper()
	testenv.EventuallyWithin(r.t, patience, func() error {
		held := r.informer.GetStore().List()
		got := make([]string, 0, len(held))
		for _, obj := range held {
			got = append(got, obj.(*Diary).Name)
		}
		slices.Sort(got)
		failing := r.health.Unreadable(diaries.WithKind("Diary").GroupKind())
		if !r.informer.HasSynced() || !slices.Equal(got, names) || failing != unreadable {
			return fmt.Errorf("synced %t, the informer holds %v, want %v; %d Diaries can't be read, want %d: %w",
				r.informer.HasSynced(), got, names, failing, unreadable, r.health.Err())
		}
		return nil
	})
}

// TestDecodeList: an informer that starts beside an unreadable Diary reads the other Diaries.
// [features.WatchListClient] decides whether client-go's reflector requests a list, or a watch
// that begins with all objects. API servers have that watch by default, so that no other test
// sends the list.
func TestDecodeList(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %t", streamed), func(t *testing.T) {
			typedLists := int64(1)
			if streamed {
				typedLists = 0
			}
			featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streamed)
			r := newReader(t)
			r.write("fine", goodTime)
			r.write("odd", oddTime)
			r.start()
			r.reads(1, "fine")
			if got := r.typed.Load(); got != typedLists || r.untyped.Load() == 0 {
				t.Errorf("%d typed lists, want %d; %d untyped lists, want some", got, typedLists, r.untyped.Load())
			}
			r.write("odd", goodTime)
			r.reads(0, "fine", "odd")
		})
	}
}

// TestDecodeWatch: a Diary that becomes unreadable while the informer watches keeps the informer
// from no other Diary, neither an earlier nor a later one.
func TestDecodeWatch(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %t", streamed), func(t *testing.T) {
			featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streamed)
			r := newReader(t)
			r.write("fine", goodTime)
			r.write("known", goodTime)
			r.start()
			r.reads(0, "fine", "known")
			before := r.typed.Load()
			// The informer lists again, and keeps the last readable state of Diary known.
			r.write("known", oddTime)
			r.reads(1, "fine", "known")
			if again := r.typed.Load() - before; again != 0 {
				t.Errorf("%d typed lists after an event of the watch was unreadable, want 0", again)
			}
			r.write("odd", oddTime)
			r.reads(2, "fine", "known")
			r.write("later", goodTime)
			r.reads(2, "fine", "known", "later")
			r.write("known", goodTime)
			r.write("odd", goodTime)
			r.reads(0, "fine", "known", "later", "odd")
		})
	}
}
