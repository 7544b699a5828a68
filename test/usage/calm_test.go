package usage_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testCalm watches a Usage of each kind from its creation, through a change of each field of its spec, to its end. While
// nothing is wrong, Ready and Effective stay True, and each change is followed by at most one write of the metadata and
// one of the status.
func testCalm(t *testing.T) {
	for kind, convert := range map[string]func(*world) usage{
		"Usage":        func(w *world) usage { return uses("calm", named("by"), named("of")) },
		"ClusterUsage": func(w *world) usage { return cluster(uses("calm-"+w.NS, in(w.NS, named("by")), in(w.NS, named("of")))) },
		"legacy":       func(w *world) usage { return legacy(uses("calm-"+w.NS, in(w.NS, named("by")), in(w.NS, named("of")))) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			// Kinds and webhooks that no Usage needed before are a real wait, once in the life of a cluster.
			before := protects("before", named("of"), "the kinds are known by now")
			w.create(labelled("of", "used", "yes"), configMap("of2"), labelled("by", "using", "yes"), configMap("by2"), before)
			w.ready(before)
			checkCalm(w, convert(w))
		})
	}
}

func checkCalm(w *world, u usage) {
	w.T.Helper()
	gvk, err := w.C.GroupVersionKindFor(u)
	if err != nil {
		w.T.Fatal(err)
	}
	spec, ns := u.UsageSpec(), ""
	if isNamespaced, err := w.C.IsObjectNamespaced(u); err != nil {
		w.T.Fatal(err)
	} else if isNamespaced {
		u.SetNamespace(w.NS)
	} else {
		ns = w.NS // A cluster-scoped Usage names the namespace of its objects.
	}
	watched := testenv.WatchVersions(w.T, w.C, gvk, u.GetNamespace(), u.GetName())
	w.create(u)
	w.ready(u)
	for _, change := range []func(){
		func() { spec.Reason = new("because") },
		func() { spec.Reason = new("because of it") },
		func() { spec.ReplayDeletion = new(true) },
		func() { spec.Of = in(ns, named("of2")) },
		func() { spec.Of = in(ns, selected("used", "yes")) },
		func() { spec.Of = in(ns, all(selected("used", "yes"))) },
		func() { spec.By = new(in(ns, named("by2"))) },
		func() { spec.By = new(in(ns, all(selected("using", "yes")))) },
		func() { spec.By = nil },
		func() { spec.ReplayDeletion, spec.By = nil, new(in(ns, named("by"))) },
		func() { spec.Reason = nil },
	} {
		w.Update(u, change)
		w.ready(u)
	}
	w.Delete(u)
	versions := watched.UntilDeleted()
	for _, text := range testenv.Relapses(versions, "Ready", "Effective") {
		w.T.Error(text)
	}
	for generation, n := range testenv.Writes(versions) {
		if n > 3 {
			w.T.Errorf("%d versions of generation %d", n, generation)
		}
	}
	w.Gone(u)
}
