package usage

import (
	"maps"
	"slices"
	"testing"
)

// TestAnnotate: the map of the annotations is not changed, because Usages in the cache share theirs.
func TestAnnotate(t *testing.T) {
	shared := map[string]string{"a": "1"}
	u := uses("u")
	u.Annotations = shared
	annotate(u, "b", "2")
	annotate(u, "a", "")
	if !maps.Equal(u.Annotations, map[string]string{"b": "2"}) || !maps.Equal(shared, map[string]string{"a": "1"}) {
		t.Errorf("annotations %v, the shared map is %v", u.Annotations, shared)
	}
}

// TestWriteMetadata: one write adds the finalizer, the owner reference and the details annotation.
func TestWriteMetadata(t *testing.T) {
	r := newRig(t)
	u := uses("u")
	r.create(configMap("using"), configMap("used"), u)
	p := r.begin(identify(u), u)
	if outcome := r.bindUsing(t.Context(), p).And(r.writeMetadata(t.Context(), p)); !outcome.IsDone() {
		t.Fatal(outcome.Message())
	}
	r.read(u)
	if !slices.Contains(u.Finalizers, finalizer.Name) || len(u.OwnerReferences) != 1 ||
		u.Annotations[detailsAnnotation] != "ConfigMap/using uses ConfigMap/used" {
		t.Errorf("metadata is %+v", u.ObjectMeta)
	}
	if p.seen.GetResourceVersion() != u.ResourceVersion || p.UsageStatus().Using == nil {
		t.Error("the pass lost the status that bindUsing decided, or does not know the new version")
	}
}
