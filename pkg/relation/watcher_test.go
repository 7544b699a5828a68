package relation_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func inNamespace(namespace, name string) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// create creates a ConfigMap and returns it.
func create(t *testing.T, namespace, name string, labels map[string]string) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	if err := testenv.Client(t, nil).Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func remove(t *testing.T, obj client.Object) {
	t.Helper()
	if err := testenv.Client(t, nil).Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// relabel sets one label.
func relabel(t *testing.T, c client.Client, obj client.Object, key, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	if err := c.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

func TestWatcherKnowsKindsInUse(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	first := create(t, namespace, "z-first", map[string]string{"app": "web"})
	h := start(t, testenv.Config(t))
	id := inNamespace(namespace, first.Name)
	if _, presence := h.Get(id); presence != relation.Unknown {
		t.Errorf("presence %d before anybody asked, want unknown", presence)
	}
	if _, known := h.List(relation.Named(id)); known {
		t.Error("a kind that nobody uses is listed")
	}
	h.Use(alice, configMap)
	got := h.awaitPresence(t, id, relation.Present)
	if diff := cmp.Diff(relation.ObjectOf(configMap, first), got); diff != "" {
		t.Errorf("what the watcher knows differs from what the API server answered (-want +got):\n%s", diff)
	}
	if _, presence := h.Get(inNamespace(namespace, "none")); presence != relation.Absent {
		t.Errorf("presence %d of what does not exist, want absent", presence)
	}
	h.awaitTold(t, configMap, 1) // The kind was read.
	if err := h.Problem(configMap); err != nil {
		t.Errorf("problem of a kind that was read: %v", err)
	}
}

func TestWatcherLists(t *testing.T) {
	namespace, elsewhere := testenv.Namespace(t), testenv.Namespace(t)
	app := map[string]string{"app": namespace}
	create(t, namespace, "b", app)
	create(t, namespace, "a", app)
	create(t, elsewhere, "c", app)
	create(t, namespace, "other", nil)
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitRead(t, configMap)
	set := func(namespace string, s relation.Selector) relation.Ref {
		return relation.Ref{ID: object.ID{Kind: "ConfigMap", Namespace: namespace}, Selector: &s}
	}
	cases := map[string]struct {
		reason string
		ref    relation.Ref
		want   int
	}{
		"set in a namespace": {"the namespace limits the set", set(namespace, relation.Selector{Labels: app}), 2},
		"set everywhere":     {"all namespaces", set("", relation.Selector{Labels: app}), 3},
		"empty selector":     {"it selects nothing, never everything", set(namespace, relation.Selector{}), 0},
		"named":              {"one object", relation.Named(inNamespace(namespace, "a")), 1},
		"missing":            {"no object, but that is known", relation.Named(inNamespace(namespace, "none")), 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, known := h.List(c.ref)
			if !known || len(got) != c.want {
				t.Errorf("%s: known %t, %d objects, want %d", c.reason, known, len(got), c.want)
			}
			for i := 1; i < len(got); i++ {
				if relation.OlderFirst(got[i-1], got[i]) > 0 {
					t.Errorf("%s comes before %s, which is older", got[i-1].ID, got[i].ID)
				}
			}
		})
	}
}

func TestWatcherTellsChangesInOrder(t *testing.T) {
	t.Parallel()
	const updates = 20
	namespace := testenv.Namespace(t)
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitRead(t, configMap)
	c, m := testenv.Client(t, nil), create(t, namespace, "m", map[string]string{"n": "0"})
	for i := range updates {
		relabel(t, c, m, "n", strconv.Itoa(i+1))
	}
	remove(t, m)
	id := inNamespace(namespace, "m")
	h.awaitPresence(t, id, relation.Absent)
	var changes []relation.Change
	testenv.Eventually(t, func() error {
		changes = h.changesOf(id)
		if len(changes) < updates+2 {
			return fmt.Errorf("%d changes", len(changes))
		}
		return nil
	})
	for i, c := range changes {
		came, went := i == 0, i == updates+1
		if (c.Old == nil) != came || (c.New == nil) != went {
			t.Fatalf("change %d has the wrong form: %+v", i, c)
		}
		if !came && !went && (c.Old.Version != changes[i-1].New.Version || c.New.Labels["n"] != strconv.Itoa(i)) {
			t.Errorf("change %d does not follow change %d: %+v", i, i-1, c)
		}
	}
}

// TestWatcherStops shows that a kind costs nothing once its last user is gone.
func TestWatcherStops(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	create(t, namespace, "m", nil)
	id := inNamespace(namespace, "m")
	h := start(t, testenv.Config(t))
	h.Use(bob, configMap)
	h.Use(alice, configMap, schema.GroupKind{Kind: "Secret"})
	if diff := cmp.Diff([]object.ID{alice, bob}, h.Users(configMap)); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
	h.awaitPresence(t, id, relation.Present)
	h.awaitRead(t, schema.GroupKind{Kind: "Secret"})
	h.Use(alice)
	begin := time.Now()
	testenv.Eventually(t, func() error { // Secrets had a single user.
		if n := h.wire.watching("secrets"); n > 0 || h.Users(schema.GroupKind{Kind: "Secret"}) != nil {
			return fmt.Errorf("%d watches of Secrets", n)
		}
		return nil
	})
	if lingered := time.Since(begin); lingered < 4*time.Second {
		t.Errorf("stopped after %s: users that come and go would each time cost a list", lingered)
	}
	if _, presence := h.Get(id); presence != relation.Present {
		t.Errorf("presence %d although one user is left", presence)
	}
	h.Use(bob)
	h.awaitPresence(t, id, relation.Unknown)
	testenv.Eventually(t, func() error {
		if n := h.wire.watching("configmaps"); n > 0 {
			return fmt.Errorf("%d watches of ConfigMaps", n)
		}
		return nil
	})
	h.Use(alice, configMap)
	h.awaitPresence(t, id, relation.Present)
}

// TestWatcherLingers: a user that returns before linger has passed finds the kind with its
// store, without a request.
func TestWatcherLingers(t *testing.T) {
	t.Parallel()
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitRead(t, configMap)
	before := h.wire.count("configmaps")
	for range 20 {
		h.Use(alice)
		h.Use(bob, configMap)
		h.Use(bob)
		h.Use(alice, configMap)
	}
	if _, presence := h.Get(inNamespace("no", "such")); presence != relation.Absent {
		t.Errorf("presence %d", presence)
	}
	begin := time.Now()
	testenv.Eventually(t, func() error {
		if passed := time.Since(begin); passed < 3*time.Second {
			return fmt.Errorf("the first who left did so %s ago", passed)
		}
		return nil
	})
	h.Use(alice)
	h.Use(alice, configMap)
	h.Use(alice)
	begin = time.Now()
	h.awaitPresence(t, inNamespace("no", "such"), relation.Unknown)
	if lingered := time.Since(begin); lingered < 4*time.Second {
		t.Errorf("stopped %s after the last user left", lingered)
	}
	if n := h.wire.count("configmaps"); n != before {
		t.Errorf("%d requests more", n-before)
	}
}

// TestWatcherIsIdle counts the requests of the Watcher while the cluster is busy: all changes
// arrive by open watches. The test must not be parallel, because CustomResourceDefinitions that
// are created and deleted make the Watcher run discovery.
func TestWatcherIsIdle(t *testing.T) {
	const changes = 100
	namespace := testenv.Namespace(t)
	c, m := testenv.Client(t, nil), create(t, namespace, "m", nil)
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitRead(t, configMap)
	h.awaitRead(t, relation.DefinitionKind)
	before := h.wire.awaitQuiet(t, "", 30)
	for i := range changes {
		relabel(t, c, m, "n", strconv.Itoa(i))
		m.Data = map[string]string{"n": strconv.Itoa(i)}
		if err := c.Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, func() error {
		if obj, _ := h.Get(inNamespace(namespace, "m")); obj.Version != m.ResourceVersion {
			return fmt.Errorf("version is %s, want %s", obj.Version, m.ResourceVersion)
		}
		return nil
	})
	h.wire.awaitQuiet(t, "", 30) // Requests that the last change might cause.
	if n := h.wire.count(""); n != before {
		t.Errorf("%d requests for %d changes, want none", n-before, changes)
	}
}

func TestWatcherLive(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	m := create(t, namespace, "m", map[string]string{"k": "v"})
	h := prepare(t, testenv.Config(t))
	t.Cleanup(h.Close)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := h.Live(t.Context(), inNamespace(namespace, "m"))
	if diff := cmp.Diff(relation.ObjectOf(configMap, m), got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if _, err := h.Live(t.Context(), inNamespace(namespace, "none")); !apierrors.IsNotFound(err) {
		t.Errorf("what does not exist: %v", err)
	}
	_, err = h.Live(t.Context(), object.ID{Group: "no.such", Kind: "Thing", Name: "a"})
	if _, ok := errors.AsType[*watch.KindError](err); !ok {
		t.Errorf("a kind that does not exist: %v", err)
	}
}

func TestWatcherMapping(t *testing.T) {
	t.Parallel()
	h := prepare(t, testenv.Config(t))
	t.Cleanup(h.Close)
	if _, err := h.Mapping(configMap.WithVersion("v1")); err == nil {
		t.Error("a kind is known before anything was read")
	}
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := h.Mapping(schema.GroupVersionKind{Group: "apps", Kind: "Deployment"})
	want := watch.Mapping{
		Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
		Kind:     "Deployment", Namespaced: true,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	requests := h.wire.count("")
	for _, m := range h.Served() {
		if strings.Contains(m.Resource.Resource, "/") || m.Kind == "TokenReview" {
			t.Errorf("%s can't be watched", m.Resource)
		}
	}
	if n := h.wire.count(""); n != requests {
		t.Errorf("%d requests for what is known already", n-requests)
	}
}

// TestWatcherWaitsForCallbacks: no callback is called after Start has returned.
func TestWatcherWaitsForCallbacks(t *testing.T) {
	t.Parallel()
	called, release := make(chan struct{}), make(chan struct{})
	h := prepare(t, testenv.Config(t))
	block := sync.OnceFunc(func() {
		close(called)
		<-release
	})
	h.OnObject(func(relation.Change) { block() })
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() { returned <- h.Start(ctx) }()
	<-called
	cancel()
	testenv.Eventually(t, func() error {
		if n := h.wire.watching(""); n > 0 {
			return fmt.Errorf("%d watches are open", n)
		}
		return nil
	})
	h.wire.awaitQuiet(t, "", 30)
	select {
	case err := <-returned:
		t.Errorf("Start has returned (%v), and a callback runs", err)
		close(release)
	default:
		close(release)
		if err := <-returned; err != nil {
			t.Error(err)
		}
	}
}

// TestWatcherLeavesNothing must not be parallel: the test counts all goroutines.
func TestWatcherLeavesNothing(t *testing.T) {
	namespace := testenv.Namespace(t)
	create(t, namespace, "m", nil)
	connections := []goleak.Option{ // Kept open for the next client.
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*http2ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http/internal/http2.(*ClientConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}
	t.Run("stopped", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		h := start(t, testenv.Config(t))
		h.Use(alice, configMap, schema.GroupKind{Group: "no.such", Kind: "Thing"})
		h.awaitPresence(t, inNamespace(namespace, "m"), relation.Present)
		h.Use(bob, schema.GroupKind{Kind: "Secret"}) // Being started.
		h.stop()
		goleak.VerifyNone(t, append(connections, before)...)
	})
	t.Run("never started", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		h := prepare(t, testenv.Config(t))
		if err := h.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.Close()
		goleak.VerifyNone(t, append(connections, before)...)
	})
	t.Run("failed to start", func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		h := prepare(t, testenv.Config(t))
		h.wire.cut()
		if err := h.Start(t.Context()); !errors.Is(err, errCut) {
			t.Errorf("error %v, want %v", err, errCut)
		}
		goleak.VerifyNone(t, append(connections, before)...)
	})
}
