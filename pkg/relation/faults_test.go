package relation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// mayReadConfigMaps gives a user the right, under the user's name.
const mayReadConfigMaps = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`

// TestWatcherForbidden is a kind that the watcher has no right to, and then has.
func TestWatcherForbidden(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	create(t, namespace, "m", nil)
	id := inNamespace(namespace, "m")
	reader := namespace // A name that no other run has given rights to.
	h := start(t, testenv.As(t, reader))
	h.Use(alice, configMap)
	testenv.Eventually(t, func() error {
		if n := h.wire.count("/configmaps"); n < 5 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	if err := h.Problem(configMap); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), reader) {
		t.Errorf("problem is %v, want what the API server says", err)
	}
	if _, presence := h.Get(id); presence != relation.Unknown {
		t.Errorf("presence %d of what can't be read: nothing may be concluded", presence)
	}
	if lines := h.logged(`"kind"="ConfigMap"`); len(lines) != 1 {
		t.Errorf("logged %d times, want once:\n%s", len(lines), strings.Join(lines, "\n"))
	}
	h.awaitTold(t, configMap, 1) // The kind can't be read.
	testenv.Apply(t, fmt.Sprintf(mayReadConfigMaps, reader))
	h.awaitPresence(t, id, relation.Present)
	if err := h.Problem(configMap); err != nil {
		t.Errorf("problem after the right was given: %v", err)
	}
}

// TestWatcherNoticesWhatItMissed deletes one object and recreates another object while the
// Watcher has no connection.
func TestWatcherNoticesWhatItMissed(t *testing.T) {
	t.Parallel()
	namespace := testenv.Namespace(t)
	gone, replaced := create(t, namespace, "gone", nil), create(t, namespace, "replaced", nil)
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitPresence(t, inNamespace(namespace, "gone"), relation.Present)

	mend := h.wire.cut()
	remove(t, gone)
	remove(t, replaced)
	again := create(t, namespace, "replaced", nil)
	if _, presence := h.Get(inNamespace(namespace, "gone")); presence != relation.Present {
		t.Errorf("presence %d: the wire was not cut", presence)
	}
	mend()

	h.awaitPresence(t, inNamespace(namespace, "gone"), relation.Absent)
	testenv.Eventually(t, func() error {
		changes := h.changesOf(inNamespace(namespace, "gone"))
		if last := changes[len(changes)-1]; last.New != nil || last.Old.UID != gone.UID {
			return errors.New("nobody was told what went")
		}
		if obj, _ := h.Get(inNamespace(namespace, "replaced")); obj.UID != again.UID {
			return fmt.Errorf("uid is %s, want %s", obj.UID, again.UID)
		}
		return nil
	})
}

// TestWatcherSurvivesRestart must not be parallel: it kills the API server.
func TestWatcherSurvivesRestart(t *testing.T) {
	namespace := testenv.Namespace(t)
	create(t, namespace, "before", nil)
	h := start(t, testenv.Config(t))
	h.Use(alice, configMap)
	h.awaitPresence(t, inNamespace(namespace, "before"), relation.Present)
	h.awaitTold(t, configMap, 1)
	if err := testenv.Cluster(t).RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, presence := h.Get(inNamespace(namespace, "before")); presence != relation.Present {
		t.Errorf("presence %d: what was seen before the restart is forgotten", presence)
	}
	create(t, namespace, "after", nil)
	h.awaitPresence(t, inNamespace(namespace, "after"), relation.Present)
	gk := object.ID{Group: "restart.test.kinship.dev", Kind: "Widget"}.GroupKind()
	d := define(t, definition(gk.Group, "Cluster", "v1"))
	h.awaitPresence(t, object.Of(d, relation.DefinitionKind), relation.Present) // Connected again.
	h.Use(bob, gk)
	h.awaitServed(t, gk, "v1")
	if n := h.told(configMap); n != 1 {
		t.Errorf("told %d times of a kind that was known all the time", n)
	}
}
