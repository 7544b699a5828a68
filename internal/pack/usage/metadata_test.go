package usage

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/pkg/relation"
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

// TestDropUnverified: without admission, fields that any user can have written are removed.
func TestDropUnverified(t *testing.T) {
	r := newRig(t, func(p *parts) { p.ledger.admission = false })
	used, u := configMap("used"), uses("u")
	u.Annotations = map[string]string{authorityAnnotation: authorityAuthor, "example.com/mine": "x"}
	r.create(configMap("using"), used, u)
	r.refuseDeletion(u, relation.ObjectOf(configMapID(used).GroupKind(), used), time.Now())
	r.pass(u)
	r.pass(u)
	r.ready(u, "")
	if u.Annotations[authorityAnnotation] != "" || u.Annotations["example.com/mine"] != "x" || len(u.Status.Refused) > 0 {
		t.Errorf("annotations %v, refused %v", u.Annotations, u.Status.Refused)
	}
}

// TestRemoveUnverified: only Usages that were written since a resource version lose the fields.
func TestRemoveUnverified(t *testing.T) {
	r := newRig(t)
	before, since := uses("before"), uses("since")
	for _, u := range []usage{before, since} {
		u.SetAnnotations(map[string]string{authorityAnnotation: authorityAuthor})
	}
	r.create(before)
	r.create(since)
	if err := removeUnverified(t.Context(), r.c, before.ResourceVersion); err != nil {
		t.Fatal(err)
	}
	r.read(before)
	r.read(since)
	if before.Annotations[authorityAnnotation] == "" || since.Annotations[authorityAnnotation] != "" {
		t.Errorf("annotations before %v, since %v", before.Annotations, since.Annotations)
	}
}
