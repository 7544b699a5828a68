package usage

import (
	"testing"
	"time"

	"github.com/kinship-dev/kinship/pkg/relation"
)

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
