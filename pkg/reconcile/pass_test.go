package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

func TestMain(m *testing.M) { testenv.Main(m, testenv.WithoutPods()) }

var podID = object.ID{Kind: "Pod", Namespace: "n", Name: "p"}

// passOf returns a Pass over one Pod, and a record of the called functions.
func passOf(pod client.Object, failure error, live ...reconcile.Outcome) (*reconcile.Pass[*[]string], *[]string) {
	calls := &[]string{}
	step := func(name string, o reconcile.Outcome) reconcile.Step[*[]string] {
		return reconcile.Step[*[]string]{Name: name, Run: func(context.Context, *[]string) reconcile.Outcome {
			*calls = append(*calls, name)
			return o
		}}
	}
	p := &reconcile.Pass[*[]string]{
		Read: func(context.Context, object.ID) (client.Object, error) { return pod, failure },
		Begin: func(object.ID, client.Object) *[]string {
			*calls = append(*calls, "begin")
			return calls
		},
		Ending: []reconcile.Step[*[]string]{step("ending", reconcile.Outcome{})},
		Conclude: func(_ context.Context, _ *[]string, o reconcile.Outcome) reconcile.Outcome {
			*calls = append(*calls, fmt.Sprintf("conclude %q", o.Message()))
			return o
		},
		Forget: func(_ context.Context, id object.ID) { *calls = append(*calls, "forget "+id.Name) },
		Writes: &reconcile.Writes{},
	}
	for i, o := range live {
		p.Live = append(p.Live, step(fmt.Sprintf("live%d", i), o))
	}
	return p, calls
}

func TestPass(t *testing.T) {
	done, waits := reconcile.Outcome{}, reconcile.Wait("R", "waiting")
	alive := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "10"}}
	ending := alive.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{}
	conflict := reconcile.Fail("R", apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("x")))
	soon := ctrl.Result{RequeueAfter: reconcile.ConflictRetry}
	for name, c := range map[string]struct {
		reason  string
		object  client.Object
		failure error
		live    []reconcile.Outcome
		wrote   string // the own last write
		want    []string
		result  ctrl.Result
		err     string
	}{
		"every step is done": {
			"Conclude sees that nothing is left to do", alive, nil,
			[]reconcile.Outcome{done, done},
			"",
			[]string{"begin", "live0", "live1", `conclude ""`},
			ctrl.Result{},
			"",
		},
		"a step waits": {
			"later steps rely on it", alive, nil,
			[]reconcile.Outcome{waits, done},
			"",
			[]string{"begin", "live0", `conclude "waiting"`},
			ctrl.Result{},
			"",
		},
		"a deleted object": {
			"has steps of its own", ending, nil,
			[]reconcile.Outcome{done},
			"",
			[]string{"begin", "ending", `conclude ""`},
			ctrl.Result{},
			"",
		},
		"an object that is gone": {
			"what is kept of it is dropped", nil, nil,
			[]reconcile.Outcome{done},
			"9",
			[]string{"forget p"},
			ctrl.Result{},
			"",
		},
		"the cache is behind": {
			"a decision on the former state would repeat or undo the own write", alive, nil,
			[]reconcile.Outcome{done},
			"11",
			[]string{},
			soon,
			"",
		},
		"the cache shows the own write": {
			"the pass goes on", alive, nil,
			[]reconcile.Outcome{done},
			"10",
			[]string{"begin", "live0", `conclude ""`},
			ctrl.Result{},
			"",
		},
		"a conflict": {
			"a back-off for failures would cost a second", alive, nil,
			[]reconcile.Outcome{conflict},
			"",
			[]string{"begin", "live0", `conclude "Operation cannot be fulfilled on pods \"p\": x"`},
			soon,
			"",
		},
		"a cache that fails": {
			"nothing is concluded", nil, errors.New("no cache"), nil, "", []string{}, ctrl.Result{}, "no cache",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, calls := passOf(c.object, c.failure, c.live...)
			if c.wrote != "" {
				p.Writes.Wrote(podID, c.wrote)
			}
			result, err := p.Reconcile(t.Context(), podID)
			if diff := cmp.Diff(c.want, *calls); diff != "" || result != c.result || (err != nil) != (c.err != "") {
				t.Errorf("%s: result %+v, want %+v, error %v; calls (-want +got):\n%s", c.reason, result, c.result, err, diff)
			}
			if c.object == nil && c.failure == nil && p.Writes.Unseen(podID, "1") {
				t.Error("the write of an object that is gone is remembered")
			}
		})
	}
}

func TestAfter(t *testing.T) {
	o := reconcile.After(5).And(reconcile.After(3)).And(reconcile.After(0))
	if result, err := o.Result(); !o.IsDone() || result.RequeueAfter != 3 || err != nil {
		t.Errorf("done %t, %+v, %v: want done, and to be looked at again after the earliest", o.IsDone(), result, err)
	}
}

func TestConcerns(t *testing.T) {
	base := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "p", UID: "u", ResourceVersion: "10", Generation: 1, Labels: map[string]string{"a": "b"},
		}}
	}
	changed := func(version string, change func(*corev1.Pod)) *corev1.Pod {
		pod := base()
		pod.ResourceVersion = version
		change(pod)
		return pod
	}
	none := func(*corev1.Pod) {}
	label := func(p *corev1.Pod) { p.Labels = map[string]string{"a": "c"} }
	annotate := func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }
	replace := func(p *corev1.Pod) { p.UID = "v" }
	controls := true
	for name, c := range map[string]struct {
		reason      string
		before, now *corev1.Pod
		own         func(*reconcile.Writes)
		want        bool
	}{
		"new":         {"nobody has looked yet", nil, base(), nil, true},
		"gone":        {"what is kept has to be dropped", base(), nil, nil, true},
		"status":      {"only the operator writes a status", base(), changed("11", none), nil, false},
		"spec":        {"", base(), changed("11", func(p *corev1.Pod) { p.Generation = 2 }), nil, true},
		"label":       {"", base(), changed("11", label), nil, true},
		"annotation":  {"", base(), changed("11", annotate), nil, true},
		"finalizer":   {"", base(), changed("11", func(p *corev1.Pod) { p.Finalizers = []string{"f"} }), nil, true},
		"deletion":    {"", base(), changed("11", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), nil, true},
		"another one": {"a watch that was cut off tells both as one change", base(), changed("11", replace), nil, true},
		"owner": {
			"", base(), changed("11", func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{UID: "o", Controller: &controls}}
			}), nil, true,
		},
		"own write": {
			"the pass that wrote has seen all else", base(), changed("11", label),
			func(w *reconcile.Writes) { w.WroteOn(podID, "10", "11") }, false,
		},
		"own write upon a foreign one": {
			"the watch tells both as one change, and no pass has seen the foreign write", base(), changed("12", label),
			func(w *reconcile.Writes) { w.WroteOn(podID, "11", "12") }, true,
		},
		"own write without a base": {
			"a foreign write may lie in between", base(), changed("12", label),
			func(w *reconcile.Writes) { w.Wrote(podID, "12") }, true,
		},
		"foreign write after an own one": {
			"", base(), changed("12", label), func(w *reconcile.Writes) { w.WroteOn(podID, "10", "11") }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w reconcile.Writes
			if c.own != nil {
				c.own(&w)
			}
			var before, now metav1.Object
			if c.before != nil {
				before = c.before
			}
			if c.now != nil {
				now = c.now
			}
			if got := w.Concerns(podID, before, now); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
		})
	}
}

// writerFor returns a writer and a ConfigMap or Pod to write.
func writerFor(t *testing.T) (*reconcile.Writer, *corev1.Pod, object.ID) {
	t.Helper()
	c := testenv.Client(t, scheme.Scheme)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w := &reconcile.Writer{Client: c, FieldOwner: "test", Writes: &reconcile.Writes{}}
	return w, pod, object.Of(pod, schema.GroupKind{Kind: "Pod"})
}

func TestWriterStatus(t *testing.T) {
	w, pod, id := writerFor(t)
	ctx := t.Context()
	after := pod.DeepCopy()
	wrote, err := w.Status(ctx, id, pod, after, false)
	if wrote || err != nil || after.ResourceVersion != pod.ResourceVersion {
		t.Errorf("nothing differs: wrote %t, %v", wrote, err)
	}
	after.Status.Message, after.Labels = "hello", map[string]string{"not": "written"}
	if wrote, err := w.Status(ctx, id, pod, after, false); !wrote || err != nil {
		t.Fatalf("wrote %t, %v", wrote, err)
	}
	if after.Status.Message != "hello" || after.Labels["not"] != "" || !w.Writes.Unseen(id, pod.ResourceVersion) {
		t.Errorf("message %q, labels %v, or the write is not remembered", after.Status.Message, after.Labels)
	}
	late := pod.DeepCopy() // of the version before the write
	late.Status.Reason = "Late"
	if _, err := w.Status(ctx, id, pod, late.DeepCopy(), true); !apierrors.IsConflict(err) {
		t.Errorf("a locked write on an old version: %v, want a conflict", err)
	}
	if _, err := w.Status(ctx, id, pod, late.DeepCopy(), false); err != nil {
		t.Errorf("a write without a lock on an old version: %v", err)
	}
	other := late.DeepCopy()
	other.UID = "another"
	if _, err := w.Status(ctx, id, pod, other, false); !reconcile.IsSuperseded(err) {
		t.Errorf("a write that means another object: %v", err)
	}
}

func TestWriterObject(t *testing.T) {
	w, pod, id := writerFor(t)
	ctx := t.Context()
	after := pod.DeepCopy()
	after.Status.Message = "decided, and written later"
	if wrote, err := w.Object(ctx, id, pod, after); wrote || err != nil {
		t.Errorf("nothing but the status differs: wrote %t, %v", wrote, err)
	}
	after.Finalizers = []string{"example.com/f"}
	if wrote, err := w.Object(ctx, id, pod, after); !wrote || err != nil {
		t.Fatalf("wrote %t, %v", wrote, err)
	}
	if after.Status.Message == "" || after.ResourceVersion == pod.ResourceVersion {
		t.Errorf("status message %q, version %s", after.Status.Message, after.ResourceVersion)
	}
	if w.Writes.Concerns(id, pod, after) {
		t.Error("the event of the own write causes a pass")
	}
	late := pod.DeepCopy()
	late.Labels = map[string]string{"a": "b"}
	if _, err := w.Object(ctx, id, pod, late); !apierrors.IsConflict(err) {
		t.Errorf("a write on an old version: %v, want a conflict", err)
	}
	after.Finalizers = nil
	var live corev1.Pod
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(pod), &live); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Object(ctx, id, &live, after); err != nil {
		t.Errorf("take the finalizer off: %v", err)
	}
}

// TestWriterGone: a pass whose object is deleted before the pass writes has not failed. A pass that misses another
// object has.
func TestWriterGone(t *testing.T) {
	w, pod, id := writerFor(t)
	ctx := t.Context()
	if err := w.Client.Delete(ctx, pod.DeepCopy(), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	status, finalizer := pod.DeepCopy(), pod.DeepCopy()
	status.Status.Message, finalizer.Finalizers = "late", []string{"example.com/f"}
	_, statusErr := w.Status(ctx, id, pod, status, false)
	_, objectErr := w.Object(ctx, id, pod, finalizer)
	unserved, err := dynamic.NewForConfig(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := reconcile.Writer{Client: oldVersion{w.Client, unserved}, FieldOwner: "test", Writes: &reconcile.Writes{}}
	_, pathErr := elsewhere.Object(ctx, id, pod, finalizer)
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"status":         {statusErr, true},
		"object":         {objectErr, true},
		"no such path":   {pathErr, false},
		"another object": {w.Client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{}), false},
	} {
		outcome := reconcile.Fail("R", c.err)
		result, err := outcome.Result()
		if !apierrors.IsNotFound(c.err) || outcome.IsSuperseded() != c.want || (err == nil) != c.want || !result.IsZero() {
			t.Errorf("%s: %v, superseded is not %t, or %+v, %v", name, c.err, c.want, result, err)
		}
	}
}

// oldVersion is a client of a version that the API server does not serve.
type oldVersion struct {
	client.Client

	unserved dynamic.Interface
}

// Patch implements client.Writer.
func (c oldVersion) Patch(ctx context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(obj)
	if err != nil {
		return err
	}
	resource := schema.GroupVersionResource{Version: "v1beta1", Resource: "pods"}
	_, err = c.unserved.Resource(resource).Namespace(obj.GetNamespace()).
		Patch(ctx, obj.GetName(), patch.Type(), data, metav1.PatchOptions{})
	return err
}

// TestPassingPatience: Conclude finds an outcome passing for 5 seconds, and then not until the outcome was another one.
func TestPassingPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "10"}}
		conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("x"))
		passing := []reconcile.Outcome{reconcile.Progress("R", "m").Passing(), reconcile.Fail("R", conflict)}
		p, _ := passOf(pod, nil)
		var outcome reconcile.Outcome
		p.Live = []reconcile.Step[*[]string]{{Run: func(context.Context, *[]string) reconcile.Outcome { return outcome }}}
		var isPassing bool
		p.Conclude = func(_ context.Context, _ *[]string, o reconcile.Outcome) reconcile.Outcome {
			isPassing = o.IsPassing()
			return o
		}
		for i, step := range []struct {
			after time.Duration
			is    reconcile.Outcome
			want  bool
			again time.Duration
		}{
			{0, passing[0], true, 5 * time.Second},
			{4 * time.Second, passing[0], true, time.Second},
			{0, passing[1], true, reconcile.ConflictRetry},
			{time.Second, passing[1], false, reconcile.ConflictRetry},
			{time.Hour, passing[0], false, 0},
			{0, reconcile.Outcome{}, false, 0},
			{time.Hour, passing[0], true, 5 * time.Second},
		} {
			<-time.After(step.after)
			outcome = step.is
			result, err := p.Reconcile(t.Context(), object.ID{Name: "p"})
			if err != nil || isPassing != step.want || result.RequeueAfter != step.again {
				t.Errorf("step %d: passing %t, again after %v, error %v", i, isPassing, result.RequeueAfter, err)
			}
		}
	})
}
