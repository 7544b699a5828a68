package oam_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testNamesakes is W5: Components of one name in several namespaces are followed by the applications of
// their namespaces.
func testNamesakes(t *testing.T) {
	worlds := []*world{newWorld(t), newWorld(t), newWorld(t), newWorld(t)}
	for _, w := range worlds {
		w.write(bare("db", 1))
		w.write(application("app", "componentName: db"))
		w.get("Bar", "db", field(1, "spec", "key"))
	}
	for i, w := range worlds {
		w.change("Component", "db", int64(10+i), "spec", "workload", "spec", "key")
	}
	for i, w := range worlds {
		w.get("Bar", "db", field(10+i, "spec", "key"))
	}
}

// testCrowd is W13: twenty applications join one scope, and leave it.
func testCrowd(t *testing.T) {
	const n = 20
	w := newWorld(t)
	w.write(healthScope)
	for i := range n {
		w.write(bare(fmt.Sprint("db", i), i))
		w.write(application(fmt.Sprint("app", i), fmt.Sprint("componentName: db", i)) + scopes)
	}
	w.get("HealthScope", "health", members(n))
	w.get("HealthScope", "health", field(n, "status", "scopeHealthCondition", "total"))
	for i := range n {
		w.Delete(w.blank("ApplicationConfiguration", fmt.Sprint("app", i)))
	}
	w.get("HealthScope", "health", members(0))
}

// testRevisionLimit is W16: old revisions of one Component are deleted, but for those that are in use,
// and those of a namesake in another namespace stay.
func testRevisionLimit(t *testing.T) {
	const limit = 50
	w, other := newWorld(t), newWorld(t)
	for _, one := range []*world{w, other} {
		one.write(bare("db", 0))
		one.get("Component", "db", field("db-v1", "status", "latestRevision", "name"))
	}
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: old}
spec:
  components: [{revisionName: db-v1}]`)
	w.get("ApplicationConfiguration", "old", synced(""))
	for i := 1; i < limit+5; i++ {
		w.change("Component", "db", int64(i), "spec", "workload", "spec", "key")
		w.get("Component", "db", field(fmt.Sprintf("db-v%d", i+1), "status", "latestRevision", "name"))
	}
	w.gone("ControllerRevision", "db-v2")
	w.gone("ControllerRevision", "db-v5")
	var list appsv1.ControllerRevisionList
	if err := w.C.List(t.Context(), &list, client.InNamespace(w.NS)); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != limit {
		t.Errorf("%d revisions, want %d", len(list.Items), limit)
	}
	if !slices.ContainsFunc(list.Items, func(r appsv1.ControllerRevision) bool { return r.Name == "db-v1" }) {
		t.Error("the revision that an application names is gone")
	}
	other.get("ControllerRevision", "db-v1", nil)
}
