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

// definition returns a CustomResourceDefinition of kind Widget whose versions
// are served or not, v1 stored.
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

// awaitUnanswered waits until the watcher says that nobody can tell whether a kind is served.
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

// checkKept fails the test unless an object and its kind are known as they were when the
// kind was read.
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

// awaitServed waits until the watcher serves a kind in a version and has read it.
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
	// Who were still to watch a kind that is gone would try again and again.
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

// TestWatcherSwitchesVersions removes the version that is watched: the objects
// are still there in another one.
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

// TestWatcherSilentGroup has the API server unable to tell what a group has: what was
// known of it still is. Then the group is really gone.
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
	fresh := start(t, testenv.Config(t)) // It has never known the group.
	fresh.Use(alice, gk)
	fresh.awaitUnanswered(t, gk)

	remove(t, service) // The API server makes its own anew.
	fresh.awaitPresence(t, id, relation.Present)
	testenv.Eventually(t, func() error { return h.Silence(gk.Group) })
	remove(t, d)
	h.awaitMissing(t, gk)
	fresh.awaitMissing(t, gk)
}

// TestWatcherUnlistedGroup has the API server list the groups without one that it has, as
// one that has just started does: what was known of it still is, and who has never known
// it concludes nothing. Then it is listed again, and nobody says so.
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
	fresh.wire.awaitQuiet(t, "/apis?", 20) // It has looked for the last time.
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
	h.wire.awaitQuiet(t, "/apis?", 20) // It has looked for the last time.
	h.Use(alice, gk)
	testenv.Eventually(t, func() error {
		err := h.Problem(gk)
		var missing *watch.KindError
		var unanswered *watch.UnansweredError // If it has looked at the APIServices.
		if !errors.As(err, &missing) && !errors.As(err, &unanswered) {
			return fmt.Errorf("problem is %w", err)
		}
		return nil
	})
	h.wire.divert(nil)
	h.awaitServed(t, gk, "v1")
}

// TestWatcherStaleDiscovery has the API server list what was, for some time after the last
// that is heard of a definition: for a moment, and for longer than anybody looks again. A
// version that is watched and served no more is noticed then, too.
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

// dead has the API server ask somebody about version v1 of a group who is not there.
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
