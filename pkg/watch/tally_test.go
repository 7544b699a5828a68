package watch_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/watch"
)

const large = 10 << 10

// writeLarge creates a Diary that takes a little more than size bytes.
func (r *reader) writeLarge(name, when string, size int) {
	r.t.Helper()
	metadata := fmt.Sprintf("{name: %s, annotations: {text: %s}}", name, strings.Repeat("x", size))
	testenv.Apply(r.t, fmt.Sprintf("{apiVersion: %s, kind: Diary, metadata: %s, time: %q}", diaries, metadata, when),
		testenv.In(r.namespace))
}

func (r *reader) diary(name string) *Diary {
	return &Diary{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
}

func (r *reader) patch(name, text string) {
	r.t.Helper()
	err := r.client.Patch(r.t.Context(), r.diary(name), client.RawPatch(types.MergePatchType, []byte(text)))
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reader) delete(name string) {
	r.t.Helper()
	if err := r.client.Delete(r.t.Context(), r.diary(name)); err != nil {
		r.t.Fatal(err)
	}
}

// TestTally: an informer keeps as many Diaries as a namespace has room for. The others are reported, and are read when
// there is room. An informer that starts later keeps as many.
func TestTally(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		t.Run(fmt.Sprintf("streamed %t", streamed), func(t *testing.T) {
			featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streamed)
			r := newReader(t)
			r.tally.Namespace = 5 * large
			for _, name := range []string{"a", "b", "c"} {
				r.writeLarge(name, goodTime, large)
			}
			r.start()
			r.reads(0, "a", "b", "c")
			r.writeLarge("d", goodTime, large)
			r.reads(0, "a", "b", "c", "d")
			if bytes, full := r.tally.Full(r.namespace); !full || bytes < 4*large || bytes > 5*large {
				t.Errorf("the namespace takes %d bytes, full %t", bytes, full)
			}
			r.writeLarge("e", goodTime, large)
			r.writeLarge("f", goodTime, large)
			r.reads(2, "a", "b", "c", "d")
			r.writeLarge("a", goodTime, 3*large) // The informer keeps the smaller one.
			r.reads(3, "a", "b", "c", "d")
			r.write("a", goodTime)
			r.delete("f")
			r.reads(0, "a", "b", "c", "d", "e")
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				r.delete(name)
			}
			r.reads(0)
			if bytes, _ := r.tally.Full(r.namespace); bytes != 0 {
				t.Errorf("the empty namespace takes %d bytes", bytes)
			}
		})
	}
}

// TestTallyAtStart: an informer that starts beside more Diaries than a namespace has room for keeps a part of them.
func TestTallyAtStart(t *testing.T) {
	for _, streamed := range []bool{false, true} {
		for _, odd := range []string{goodTime, oddTime} { // A Diary that Go can't decode has the informer decode one by one.
			t.Run(fmt.Sprintf("streamed %t, %s", streamed, odd), func(t *testing.T) {
				featuretesting.SetFeatureDuringTest(t, features.WatchListClient, streamed)
				r := newReader(t)
				r.tally.Namespace, r.tally.Object = 3*large, 2*large
				r.writeLarge("a", goodTime, large)
				r.writeLarge("b", goodTime, large)
				r.writeLarge("c", goodTime, large)
				r.writeLarge("largest", goodTime, 2*large)
				r.write("odd", odd)
				r.start()
				if odd == oddTime {
					r.reads(3, "a", "b")
				} else {
					r.reads(2, "a", "b", "odd")
				}
				r.delete("a")
				r.delete("b")
				if odd == oddTime {
					r.reads(2, "c")
				} else {
					r.reads(1, "c", "odd")
				}
			})
		}
	}
}

// TestTallyDeletion: an object that was read and has no room any more is still deleted: the informer tells the deletion
// timestamp and the finalizers.
func TestTallyDeletion(t *testing.T) {
	r := newReader(t)
	r.tally.Object = 2 * large
	r.write("a", goodTime)
	r.patch("a", `{"metadata":{"finalizers":["example.org/wait"]}}`)
	r.start()
	r.reads(0, "a")
	r.patch("a", fmt.Sprintf(`{"metadata":{"annotations":{"text":%q}}}`, strings.Repeat("x", 2*large)))
	r.reads(1, "a")
	r.delete("a")
	testenv.Eventually(t, func() error {
		for _, obj := range r.informer.GetStore().List() {
			if diary := obj.(*Diary); diary.DeletionTimestamp != nil && len(diary.Finalizers) == 1 {
				return nil
			}
		}
		return fmt.Errorf("the informer has %v", r.informer.GetStore().List())
	})
	r.patch("a", `{"metadata":{"finalizers":null}}`)
	r.reads(0)
}

// TestFootprint: the estimate is at most a third above or below what Go allocates.
func TestFootprint(t *testing.T) {
	const number = 2000
	for name, decode := range map[string]func() any{
		"struct": func() any {
			diary := &Diary{}
			decodeInto(t, diary)
			return diary
		},
		"content": func() any {
			var content map[string]any
			decodeInto(t, &content)
			return content
		},
		"text": func() any { return &Diary{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", large)}} },
	} {
		var before, after runtime.MemStats
		objects := make([]any, 0, number)
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range number {
			objects = append(objects, decode())
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		got, each := watch.Footprint(objects[0]), int(after.HeapAlloc-before.HeapAlloc)/len(objects)
		if got*4 < each*3 || got*3 > each*4 {
			t.Errorf("%s: Footprint is %d, and Go allocates %d", name, got, each)
		}
	}
}

func decodeInto(t *testing.T, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(`{"apiVersion": "decode.example.org/v1", "kind": "Diary", "metadata": {
		"name": "diary", "namespace": "default", "uid": "0e2d1f5c-2b5f-4d0e-9c39-3a1d3b0c3f11", "resourceVersion": "12345",
		"labels": {"app": "diary", "app.kubernetes.io/part-of": "diaries"},
		"annotations": {"example.org/note": "a short text"},
		"finalizers": ["example.org/one", "example.org/two"],
		"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1", "controller": true}]
	}, "time": "2030-01-01T00:00:00Z"}`), into); err != nil {
		t.Fatal(err)
	}
}
