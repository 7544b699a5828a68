package relation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// soon is how long the watcher may take to follow a definition. Discovery itself
// lags behind.
const soon = 15 * time.Second

// definition returns a CustomResourceDefinition of kind Widget with the versions v1 (stored)
// and others, served or not.
func definition(group, scope string, versions ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.%[1]s}
spec:
  group: %[1]s
  scope: %s
  names: {kind: Widget, plural: widgets}
  versions:
`, group, scope)
	for _, v := range versions {
		name, unserved := strings.CutSuffix(v, " unserved")
		fmt.Fprintf(&b, "  - {name: %s, served: %t, storage: %t, schema: {openAPIV3Schema: {type: object}}}\n",
			name, !unserved, name == "v1")
	}
	return b.String()
}

func widget(group, version string) string {
	return fmt.Sprintf("{apiVersion: %s/%s, kind: Widget, metadata: {name: w}}", group, version)
}

// define applies a definition and removes it after the test.
func define(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	d := testenv.Apply(t, text)[0]
	c := testenv.Client(t, nil)
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), d); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return d
}

// awaitMissing waits until the watcher says that a kind is not served.
func (h *harness) awaitMissing(t *testing.T, gk schema.GroupKind) {
	t.Helper()
	testenv.EventuallyWithin(t, soon, func() error {
		var kindErr *watch.KindError
		if err := h.Problem(gk); !errors.As(err, &kindErr) {
			return fmt.Errorf("problem is %w", err)
		}
		if _, presence := h.Get(object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}); presence != relation.Unknown {
			return fmt.Errorf("presence %d of an object whose kind is not served", presence)
		}
		return nil
	})
}

// awaitUnanswered waits until Mapping returns an UnansweredError for a kind.
func (h *harness) awaitUnanswered(t *testing.T, gk schema.GroupKind) {
	t.Helper()
	testenv.Eventually(t, func() error {
		var unanswered *watch.UnansweredError
		if err := h.Problem(gk); !errors.As(err, &unanswered) {
			return fmt.Errorf("problem is %w", err)
		}
		return nil
	})
}

// checkKept fails the test unless the Watcher still has an object and its kind as they were
// when the kind was read.
func (h *harness) checkKept(t *testing.T, id object.ID) {
	t.Helper()
	gk := id.GroupKind()
	if _, err := h.Mapping(gk.WithVersion("")); err != nil {
		t.Errorf("the kind is forgotten: %v", err)
	}
	if _, presence := h.Get(id); presence != relation.Present || h.told(gk) != 1 {
		t.Errorf("presence %d, told %d times", presence, h.told(gk))
	}
}

// awaitServed waits until the Watcher has read a kind in a version.
func (h *harness) awaitServed(t *testing.T, gk schema.GroupKind, version string) {
	t.Helper()
	testenv.EventuallyWithin(t, soon, func() error {
		m, err := h.Mapping(gk.WithVersion(""))
		if err == nil && m.Resource.Version != version {
			err = fmt.Errorf("version is %s, not %s", m.Resource.Version, version)
		}
		if _, presence := h.Get(object.ID{Group: gk.Group, Kind: gk.Kind, Name: "none"}); presence != relation.Absent {
			err = fmt.Errorf("presence %d: %w", presence, err)
		}
		return errors.Join(err, h.Problem(gk))
	})
}

// TestWatcherFollowsDefinitions is the life of a kind: waited for, installed,
// deleted, installed again with another scope.
func TestWatcherFollowsDefinitions(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "life.test.kinship.dev", Kind: "Widget"}
	h := start(t, testenv.Config(t))
	h.Use(alice, gk)
	h.awaitMissing(t, gk)
	h.awaitStates(t, gk, "missing")

	d := define(t, definition(gk.Group, "Cluster", "v1"))
	h.awaitServed(t, gk, "v1")
	testenv.Apply(t, widget(gk.Group, "v1"))
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}
	h.awaitPresence(t, id, relation.Present)
	h.awaitStates(t, gk, "missing", "served", "read")

	remove(t, d)
	h.awaitMissing(t, gk)
	// With a kind its objects go, whether or not the watch still tells of each.
	h.awaitStates(t, gk, "missing", "served", "read", "missing")
	// An informer for a removed kind would repeat its requests again and again.
	h.wire.awaitQuiet(t, "/"+gk.Group+"/", 50)

	define(t, definition(gk.Group, "Namespaced", "v1"))
	h.awaitServed(t, gk, "v1")
	if m, err := h.Mapping(gk.WithVersion("v1")); err != nil || !m.Namespaced {
		t.Errorf("mapping %v, error %v: the kind is namespaced now", m, err)
	}
	testenv.Apply(t, widget(gk.Group, "v1"))
	id.Namespace = "default"
	h.awaitPresence(t, id, relation.Present)
}

// TestWatcherSwitchesVersions removes the watched version of a kind: the objects still exist in
// another version.
func TestWatcherSwitchesVersions(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "versions.test.kinship.dev", Kind: "Widget"}
	define(t, definition(gk.Group, "Cluster", "v1", "v2"))
	testenv.Apply(t, widget(gk.Group, "v1"))
	h := start(t, testenv.Config(t))
	h.Use(alice, gk)
	h.awaitServed(t, gk, "v2")
	h.awaitTold(t, gk, 1)

	define(t, definition(gk.Group, "Cluster", "v1", "v2 unserved"))
	h.awaitServed(t, gk, "v1")
	h.awaitPresence(t, object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}, relation.Present)
	testenv.Eventually(t, func() error {
		if h.told(gk) == 1 {
			return errors.New("nobody was told that the kind was read anew")
		}
		return nil
	})
	testenv.Eventually(t, func() error {
		h.wire.mu.Lock()
		defer h.wire.mu.Unlock()
		for s := range h.wire.streams {
			if strings.Contains(s.path, gk.Group+"/v2/") {
				return fmt.Errorf("version v2 is still watched")
			}
		}
		return nil
	})

	define(t, definition(gk.Group, "Cluster", "v1", "v2"))
	h.awaitServed(t, gk, "v2")
}

// TestWatcherSilentGroup makes a group stop answering discovery: the Watcher keeps its kinds.
// Then the group is removed.
func TestWatcherSilentGroup(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "silent.test.kinship.dev", Kind: "Widget"}
	d := define(t, definition(gk.Group, "Cluster", "v1"))
	testenv.Apply(t, widget(gk.Group, "v1"))
	h := start(t, testenv.Config(t))
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}
	h.Use(alice, gk)
	h.awaitPresence(t, id, relation.Present)
	h.awaitTold(t, gk, 1)

	service := testenv.Apply(t, fmt.Sprintf(dead, gk.Group))[0]
	testenv.Eventually(t, func() error {
		if h.Silence(gk.Group) == nil {
			return errors.New("the group is not known to be silent")
		}
		return nil
	})
	h.checkKept(t, id)
	fresh := start(t, testenv.Config(t)) // This Watcher has never known the group.
	fresh.Use(alice, gk)
	fresh.awaitUnanswered(t, gk)

	remove(t, service) // The API server makes its own anew.
	fresh.awaitPresence(t, id, relation.Present)
	testenv.Eventually(t, func() error { return h.Silence(gk.Group) })
	remove(t, d)
	h.awaitMissing(t, gk)
	fresh.awaitMissing(t, gk)
}

// TestWatcherUnlistedGroup makes the API server list its groups without one group, as an API
// server does that has just started: the Watcher keeps the known kinds, and a new Watcher draws
// no conclusion. Then the API server lists the group again, without any event.
func TestWatcherUnlistedGroup(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "unlisted.test.kinship.dev", Kind: "Widget"}
	d := define(t, definition(gk.Group, "Cluster", "v1"))
	testenv.Apply(t, widget(gk.Group, "v1"))
	h, fresh := start(t, testenv.Config(t)), prepare(t, testenv.Config(t))
	id := object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}
	h.Use(alice, gk)
	h.awaitPresence(t, id, relation.Present)
	h.awaitTold(t, gk, 1)

	h.wire.unlist(gk.Group)
	fresh.wire.unlist(gk.Group)
	if err := h.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Silence(gk.Group); err == nil {
		t.Error("the group is not known to be silent")
	}
	h.checkKept(t, id)
	fresh.run(t)
	fresh.awaitPresence(t, object.Of(d, relation.DefinitionKind), relation.Present)
	fresh.wire.awaitQuiet(t, "/apis?", 20) // The last discovery has ended.
	fresh.Use(alice, gk)
	fresh.awaitUnanswered(t, gk)

	h.wire.divert(nil)
	fresh.wire.divert(nil)
	fresh.awaitPresence(t, id, relation.Present)
	remove(t, d)
	h.awaitMissing(t, gk)
	fresh.awaitMissing(t, gk)
}

// TestWatcherLateDiscovery defines a kind which is listed only long after that, and comes
// into use in between.
func TestWatcherLateDiscovery(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "late.test.kinship.dev", Kind: "Widget"}
	h := start(t, testenv.Config(t))
	h.awaitRead(t, relation.DefinitionKind)
	h.wire.unlist(gk.Group)
	d := define(t, definition(gk.Group, "Cluster", "v1"))
	h.awaitPresence(t, object.Of(d, relation.DefinitionKind), relation.Present)
	h.wire.awaitQuiet(t, "/apis?", 20) // The last discovery has ended.
	h.Use(alice, gk)
	testenv.Eventually(t, func() error {
		err := h.Problem(gk)
		var missing *watch.KindError
		var unanswered *watch.UnansweredError // If discovery has compared the APIServices.
		if !errors.As(err, &missing) && !errors.As(err, &unanswered) {
			return fmt.Errorf("problem is %w", err)
		}
		return nil
	})
	h.wire.divert(nil)
	h.awaitServed(t, gk, "v1")
}

// TestWatcherStaleDiscovery makes discovery return an old list for some time after the last
// event of a CustomResourceDefinition: for a moment, and for longer than discoveryPatience. The
// Watcher also notices a watched version that is no longer served.
func TestWatcherStaleDiscovery(t *testing.T) {
	t.Parallel()
	gk := schema.GroupKind{Group: "stale.test.kinship.dev", Kind: "Widget"}
	define(t, definition(gk.Group, "Cluster", "v1"))
	testenv.Apply(t, widget(gk.Group, "v1"))
	h := start(t, testenv.Config(t))
	h.Use(alice, gk)
	for _, step := range []struct {
		lag      time.Duration
		versions []string
		want     string
	}{
		{500 * time.Millisecond, []string{"v1", "v2"}, "v2"},
		{3 * time.Second, []string{"v1", "v2 unserved"}, "v1"},
	} {
		h.wire.lag(func() bool { return time.Since(h.heard(gk.Group)) < step.lag })
		if err := h.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		define(t, definition(gk.Group, "Cluster", step.versions...))
		h.awaitServed(t, gk, step.want)
		h.awaitPresence(t, object.ID{Group: gk.Group, Kind: gk.Kind, Name: "w"}, relation.Present)
	}
}

// dead makes the API server forward version v1 of a group to a server that does not exist.
const dead = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.%[1]s, labels: {kube-aggregator.kubernetes.io/automanaged: "false"}}
spec:
  group: %[1]s
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: default, name: none, port: 443}
`
