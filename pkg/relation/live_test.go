package relation_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestLiveHolds decides by the API server: no informer runs. The Watcher may read two namespaces.
func TestLiveHolds(t *testing.T) {
	t.Parallel()
	namespace, other, outside := testenv.Namespace(t), testenv.Namespace(t), testenv.Namespace(t)
	user := create(t, namespace, "user", map[string]string{"app": namespace})
	create(t, other, "second", map[string]string{"app": other})
	create(t, outside, "third", map[string]string{"app": outside})
	h := prepare(t, testenv.Config(t))
	h.In(namespace, other)
	t.Cleanup(h.Close)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	named, gone := relation.Named(inNamespace(namespace, "user")), relation.Named(inNamespace(namespace, "gone"))
	unserved := relation.Named(object.ID{Group: "no.such", Kind: "Thing", Name: "a"})
	selecting := func(kind, namespace string, s relation.Selector) relation.Ref {
		return relation.Ref{ID: object.ID{Kind: kind, Namespace: namespace}, Selector: &s}
	}
	labelled := func(namespace, app string) relation.Ref {
		return selecting("ConfigMap", namespace, relation.Selector{Labels: map[string]string{"app": app}})
	}
	none, owned := relation.Selector{}, relation.Selector{Controller: "c"}
	for name, c := range map[string]struct {
		edge relation.Edge
		want bool
	}{
		"no source":                     {relation.Edge{}, true},
		"source there":                  {relation.Edge{Source: named}, true},
		"source of that uid":            {relation.Edge{Source: named, SourceUID: user.UID}, true},
		"another one of that name":      {relation.Edge{Source: named, SourceUID: "former"}, false},
		"source gone":                   {relation.Edge{Source: gone}, false},
		"source of a uid gone":          {relation.Edge{Source: gone, SourceUID: user.UID}, false},
		"kind not served":               {relation.Edge{Source: unserved}, false},
		"kind of a uid not served":      {relation.Edge{Source: unserved, SourceUID: "a"}, false},
		"one is selected":               {relation.Edge{Source: labelled(namespace, namespace)}, true},
		"none is selected":              {relation.Edge{Source: labelled(namespace, other)}, false},
		"selected in any namespace":     {relation.Edge{Source: labelled("", other)}, true},
		"selected outside of In":        {relation.Edge{Source: labelled("", outside)}, false},
		"a selector with a uid":         {relation.Edge{Source: labelled("", other), SourceUID: "former"}, true},
		"selected of no served kind":    {relation.Edge{Source: selecting("Nothing", "", owned)}, false},
		"selected by a controller":      {relation.Edge{Source: selecting("ConfigMap", "", owned)}, false},
		"selected by no possible label": {relation.Edge{Source: labelled(namespace, "no label: é")}, false},
		"an empty selector":             {relation.Edge{Source: selecting("ConfigMap", namespace, none)}, false},
		"content there":                 {relation.Edge{Source: named, Content: &named}, true},
		"content gone":                  {relation.Edge{Source: named, Content: &gone}, false},
		"content there, source gone":    {relation.Edge{Source: gone, Content: &named}, false},
		"content without a source":      {relation.Edge{Content: &named}, true},
	} {
		if got, err := h.LiveHolds(t.Context(), c.edge); got != c.want || err != nil {
			t.Errorf("%s: the edge holds: %t, error %v; want %t", name, got, err, c.want)
		}
	}
}

// TestLiveHoldsForbidden: an edge whose source can't be read may hold. The error says so, and nothing is
// concluded.
func TestLiveHoldsForbidden(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	create(t, namespace, "user", nil)
	h := prepare(t, testenv.As(t, "nobody-"+namespace))
	t.Cleanup(h.Close)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	named := relation.Named(inNamespace(namespace, "user"))
	selected := relation.Ref{
		ID: object.ID{Kind: "ConfigMap"}, Selector: &relation.Selector{Labels: map[string]string{"a": "b"}},
	}
	for name, e := range map[string]relation.Edge{
		"by name": {Source: named}, "by uid": {Source: named, SourceUID: "u"}, "by selector": {Source: selected},
		"content": {Content: &named}, "selected content": {Content: &selected},
	} {
		if holds, err := h.LiveHolds(t.Context(), e); holds || !apierrors.IsForbidden(err) {
			t.Errorf("%s: holds is %t, error %v; want Forbidden", name, holds, err)
		}
	}
}

// TestIsGone: only an answer of the API server that the object or the kind does not exist proves that an
// object is gone.
func TestIsGone(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	unexpected := apierrors.NewGenericServerResponse(404, "get", pods, "a", "no such page", 0, true)
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"NotFound":           {apierrors.NewNotFound(pods, "a"), true},
		"wrapped":            {errors.Join(errors.New("read"), apierrors.NewNotFound(pods, "a")), true},
		"kind not served":    {&watch.KindError{Kind: schema.GroupVersionKind{Kind: "Pod"}}, true},
		"group unanswered":   {&watch.UnansweredError{}, false},
		"no Kubernetes":      {unexpected, false},
		"Forbidden":          {apierrors.NewForbidden(pods, "a", nil), false},
		"no answer":          {errors.New("connection refused"), false},
		"version gone (410)": {apierrors.NewResourceExpired("too old"), false},
		"nothing":            {nil, false},
	} {
		if got := relation.IsGone(c.err); got != c.want {
			t.Errorf("%s: IsGone is %t, want %t", name, got, c.want)
		}
		if ignored := relation.IgnoreGone(c.err); (ignored == nil) != (c.want || c.err == nil) {
			t.Errorf("%s: IgnoreGone returns %v", name, ignored)
		}
	}
}

// TestWatcherInSome: a Watcher that is limited to namespaces sees their objects and those without a
// namespace, and keeps the part of each object that Keep returns.
func TestWatcherInSome(t *testing.T) {
	t.Parallel()
	first, second, outside := testenv.Namespace(t), testenv.Namespace(t), testenv.Namespace(t)
	for _, namespace := range []string{first, second, outside} {
		create(t, namespace, "m", map[string]string{"in": namespace})
	}
	h := prepare(t, testenv.Config(t))
	h.In(first, second)
	h.Keep(label)
	h.run(t)
	namespaces := schema.GroupKind{Kind: "Namespace"}
	h.Use(alice, configMap, namespaces)
	h.awaitRead(t, namespaces)
	for namespace, want := range map[string]relation.Presence{
		first: relation.Present, second: relation.Present, outside: relation.Absent,
	} {
		obj := h.awaitPresence(t, inNamespace(namespace, "m"), want)
		if covered := want == relation.Present; h.Covers(namespace) != covered {
			t.Errorf("namespace %s is covered: %t", namespace, h.Covers(namespace))
		}
		if _, known := h.Get(object.ID{Kind: "Namespace", Name: namespace}); known != relation.Present {
			t.Errorf("Namespace %s is %d", namespace, known)
		}
		if want == relation.Present && (obj.Content == nil || obj.Content.GetName() != namespace) {
			t.Errorf("content of %s is %v", obj.ID, obj.Content)
		}
	}
	everywhere := relation.Ref{ID: object.ID{Kind: "ConfigMap"}, Selector: &relation.Selector{
		Labels: map[string]string{"in": outside},
	}}
	if found, known := h.List(everywhere); !known || len(found) > 0 || !h.Ready(configMap) || !h.Limited() {
		t.Errorf("known is %t, found outside: %v", known, found)
	}
}

// TestWatcherCovers: a Watcher is limited by In, and not for objects without a namespace. Every replica runs
// a Watcher, because every replica answers admission requests.
func TestWatcherCovers(t *testing.T) {
	t.Parallel()
	scoped, namespaced := watch.Mapping{Kind: "Namespace"}, watch.Mapping{Kind: "ConfigMap", Namespaced: true}
	for _, c := range []struct {
		in                 []string
		scoped, namespaced []string
		coversB            bool
	}{
		{nil, []string{metav1.NamespaceAll}, []string{metav1.NamespaceAll}, true},
		{[]string{"a"}, []string{metav1.NamespaceAll}, []string{"a"}, false},
		{[]string{"a", "b"}, []string{metav1.NamespaceAll}, []string{"a", "b"}, true},
	} {
		h := prepare(t, testenv.Config(t))
		t.Cleanup(h.Close)
		h.In(c.in...)
		if !h.Covers("") || !h.Covers("a") || h.Covers("b") != c.coversB || h.Limited() != (c.in != nil) {
			t.Errorf("in %q: namespace b is covered: %t, limited: %t", c.in, h.Covers("b"), h.Limited())
		}
		got := [][]string{h.Namespaces(scoped), h.Namespaces(namespaced)}
		if diff := cmp.Diff([][]string{c.scoped, c.namespaced}, got); diff != "" {
			t.Errorf("in %q: namespaces (-want +got):\n%s", c.in, diff)
		}
		if h.NeedLeaderElection() {
			t.Error("only the leader would watch")
		}
	}
}

// label keeps the label "in" of an object as a name.
func label(u *unstructured.Unstructured) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: u.GetLabels()["in"]}}
}
