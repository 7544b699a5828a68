package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// late keeps a running operator from hearing of anything new in some collections,
// between begin and end.
type late struct {
	paths []string
	begun context.Context // ends the watches that are open
	begin context.CancelFunc
	ended context.Context
	end   context.CancelFunc

	mu   sync.Mutex
	open map[string]bool // watches that are answered
}

func newLate(t *testing.T, paths ...string) *late {
	t.Helper()
	l := &late{paths: paths, open: map[string]bool{}}
	l.begun, l.begin = context.WithCancel(t.Context())
	l.ended, l.end = context.WithCancel(t.Context())
	t.Cleanup(l.end)
	return l
}

// meddle is for a proxy.
func (l *late) meddle(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	path := r.URL.Path
	if r.URL.Query().Get("watch") == "" || !slices.Contains(l.paths, path) || l.ended.Err() != nil {
		return false
	}
	if l.begun.Err() != nil {
		l.set(path, false)
		select {
		case <-l.ended.Done():
		case <-r.Context().Done():
		}
		return false
	}
	l.set(path, true)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(l.begun, cancel)()
	next.ServeHTTP(w, r.WithContext(ctx))
	return true
}

func (l *late) set(path string, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[path] = open
}

// deaf returns nil when the operator waits for news of every collection, in vain.
func (l *late) deaf() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range l.paths {
		if open, asked := l.open[path]; open || !asked {
			return fmt.Errorf("the operator hears of %s", path)
		}
	}
	return nil
}

// TestLateFollower has the leader make Usages Ready that the answering replica has not seen
// yet: it has not seen the Usages, their using objects, their ReferenceGrants, or their kinds.
// This replica must read the API server before it allows a deletion.
func TestLateFollower(t *testing.T) {
	operator.Exec(t, "--leader-elect")
	p := newProxy(t)
	follower := newLate(t, "/apis/protection.crossplane.io/v1beta1/usages", "/api/v1/secrets",
		"/apis/kinship.dev/v1alpha1/referencegrants", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		"/apis/apiregistration.k8s.io/v1/apiservices")
	p.Set(follower.meddle)
	operator.Exec(t, "--leader-elect", "--kubeconfig", p.Kubeconfig(t))
	s, other := newScene(t), testenv.Namespace(t)
	t.Cleanup(follower.end) // Before the namespaces are deleted.
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "foreign"}}
	s.create(foreign, grantFrom(s.ns, other))
	lone := s.lone(6) // All kinds are confirmed; otherwise no Usage would be Ready.
	s.create(s.used(6), lone)
	s.protect(1)
	follower.begin()
	testenv.Eventually(t, follower.deaf)

	cases := s.lateUsages(foreign)
	s.allReady(len(cases) + 1)
	for name, obj := range cases {
		err := s.c.Delete(t.Context(), obj)
		if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "The resource") {
			t.Errorf("%s: deletion was answered with %v, want a refusal", name, err)
		}
		if name == "lone" && (err == nil || !strings.Contains(err.Error(), `"precious"`)) {
			t.Errorf("%s: deletion was answered with %v, want the reason", name, err)
		}
	}
	s.lateRecords()
	// An unused object is deleted, although it has the lock.
	free := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.ns, Name: "free", Labels: map[string]string{lockLabel: "true"},
	}}
	s.create(free)
	if err := s.c.Delete(t.Context(), free); err != nil {
		t.Errorf("deletion of what nothing uses was answered with %v", err)
	}
	follower.end()
	if err := s.c.DeleteAllOf(t.Context(), &protectionv1beta1.Usage{}, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, s.noneLeft)
}

// lone is a Usage that protects an object for its own sake.
func (s scene) lone(i int) *protectionv1beta1.Usage {
	u := s.usage(i)
	u.Spec.By, u.Spec.Reason = nil, new("precious")
	return u
}

// lateUsages creates Usages of all sorts, and returns their used objects.
func (s scene) lateUsages(foreign *corev1.ConfigMap) map[string]client.Object {
	s.t.Helper()
	one, set, reaching, kind, lone := s.usage(1), s.usage(2), s.usage(3), s.usage(4), s.lone(5)
	lone.Spec.ReplayDeletion = new(true)
	for _, i := range []int{1, 2, 4, 5} {
		s.create(s.used(i))
	}
	member := s.using(2)
	member.Labels = map[string]string{"app": "late"}
	s.create(s.using(1), member, s.using(3))
	set.Spec.By.ResourceRef = nil
	set.Spec.By.ResourceSelector = &sharedv1alpha1.ResourceSelector{MatchLabels: member.Labels, MatchAll: new(true)}
	reaching.Spec.Of = named("ConfigMap", "foreign")
	reaching.Spec.Of.ResourceRef.Namespace = foreign.Namespace
	widget := s.define(s.ns + ".test")
	kind.Spec.By = new(named("Widget", widget.GetName()))
	kind.Spec.By.APIVersion = widget.GetAPIVersion()
	for _, u := range []*protectionv1beta1.Usage{one, set, kind, lone} {
		s.create(u)
	}
	s.createAs("tenant", reaching) // With the author's rights, no ReferenceGrant would be needed.
	return map[string]client.Object{
		"named": s.used(1), "set": s.used(2), "granted": foreign, "other kind": s.used(4), "lone": s.used(5),
		"content": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: foreign.Namespace}},
	}
}

// lateRecords: the answering replica records a refusal because of a Usage that it has only just
// read, too.
func (s scene) lateRecords() {
	s.t.Helper()
	lone, one := s.usage(5), s.usage(1)
	for _, u := range []*protectionv1beta1.Usage{lone, one} {
		if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			s.t.Fatal(err)
		}
	}
	if r := lone.Status.Refused; len(r) != 1 || r[0].Target.Name != s.used(5).Name {
		s.t.Errorf("of the deletion that was refused is recorded %+v", r)
	}
	obj := s.used(1)
	wish := client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata": {"annotations": {"kinship.dev/override-usage": "`+one.Name+`"}}}`))
	if err := s.c.Patch(s.t.Context(), obj, wish); err != nil {
		s.t.Fatal(err)
	}
	if err := s.c.Delete(s.t.Context(), obj); err != nil {
		s.t.Errorf("with the right to override, the deletion was answered with %v", err)
	}
	testenv.Eventually(s.t, func() error {
		var events eventsv1.EventList
		if err := s.c.List(s.t.Context(), &events, client.InNamespace(s.ns)); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
			return e.Reason == "Overridden" && e.Regarding.UID == one.UID
		}) {
			return fmt.Errorf("nobody is told that %s was overridden", one.Name)
		}
		return nil
	})
}

// define creates a kind Widget and an object of this kind.
func (s scene) define(group string) *unstructured.Unstructured {
	s.t.Helper()
	definition := testenv.Apply(s.t, strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "GROUP", group))[0]
	s.t.Cleanup(func() {
		if err := s.c.Delete(context.WithoutCancel(s.t.Context()), definition); err != nil {
			s.t.Error(err)
		}
	})
	return testenv.Apply(s.t, "{apiVersion: "+group+"/v1, kind: Widget, metadata: {name: w}}", testenv.In(s.ns))[0]
}
