package usage_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// testSetUsed: one Usage protects all objects that match at any time.
func testSetUsed(t *testing.T) {
	w := newWorld(t)
	using, a, b := configMap("using"), labelled("a", "app", "x"), configMap("b")
	w.create(using, a, b)
	u := uses("u", named("using"), all(selected("app", "x")))
	w.create(u)
	w.ready(u)
	w.refused(a)
	w.free(b)
	if u.Spec.Of.ResourceRef != nil {
		t.Errorf("a set was resolved into %+v", u.Spec.Of.ResourceRef)
	}

	w.Update(b, func() { b.Labels = map[string]string{"app": "x"} })
	w.locked(b)
	w.refused(b)
	c := labelled("c", "app", "x")
	w.create(c)
	w.locked(c)
	w.ready(u)
	w.refused(c)
	w.Update(a, func() { delete(a.Labels, "app") })
	w.free(a)
	w.Delete(a)

	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(b, c)
}

// testSetUsing: an object is used while an object of a set exists.
func testSetUsing(t *testing.T) {
	w := newWorld(t)
	used, a, b := configMap("used"), labelled("a", "app", "x"), labelled("b", "app", "x")
	w.create(used, a, b)
	u := uses("u", all(selected("app", "x")), named("used"))
	w.create(u)
	w.ready(u)
	w.Delete(a)
	w.awaitProcessed()
	w.refused(used)
	w.Update(b, func() { delete(b.Labels, "app") })
	w.unready(u, "UsingNotFound")
	w.free(used)
	w.create(labelled("c", "app", "x"))
	w.ready(u)
	w.refused(used)
	if owners(u) != "" {
		t.Errorf("owners are %q", owners(u))
	}
}

// testSetEmpty: a set without members protects nothing and says so.
func testSetEmpty(t *testing.T) {
	w := newWorld(t)
	u := protects("u", all(selected("app", "x")), "precious")
	w.create(u)
	if message := w.unready(u, "UsedNotFound"); !strings.Contains(message, "every ConfigMap in namespace "+w.NS+" that matches app=x") {
		t.Errorf("message is %q", message)
	}
	a := labelled("a", "app", "x")
	w.create(a)
	w.ready(u)
	w.refused(a)
}

// testResolved: a selector without matchAll is resolved once, to the oldest match, then the
// first by name, and keeps this object.
func testResolved(t *testing.T) {
	w := newWorld(t)
	w.create(labelled("m", "app", "used"), labelled("n", "app", "using"))
	u := uses("u", selected("app", "using"), selected("app", "used"))
	w.create(u)
	w.ready(u)
	if of, by := u.Spec.Of.ResourceRef, u.Spec.By.ResourceRef; of == nil || of.Name != "m" || by == nil || by.Name != "n" {
		t.Errorf("resolved into %+v and %+v", of, by)
	}
	if got := u.Annotations["crossplane.io/usage-details"]; got != "ConfigMap/n uses ConfigMap/m" {
		t.Errorf("details are %q", got)
	}
	other := labelled("a", "app", "used")
	w.create(other)
	w.awaitProcessed()
	w.free(other)
}

// testUnmatched: a selector that nothing matches is waited for.
func testUnmatched(t *testing.T) {
	w := newWorld(t)
	u := protects("u", selected("app", "x"), "precious")
	w.create(u)
	if message := w.unready(u, "SelectorUnmatched"); !strings.Contains(message, "app=x") {
		t.Errorf("message is %q", message)
	}
	a := labelled("a", "app", "x")
	w.create(a)
	w.ready(u)
	w.refused(a)
}

// testControllerRef: objects of a composition find each other.
func testControllerRef(t *testing.T) {
	w := newWorld(t)
	one, two := configMap("composite1"), configMap("composite2")
	w.create(one, two)
	child := func(name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
		cm := labelled(name, "app", "used")
		cm.OwnerReferences = controlledBy(owner)
		return cm
	}
	w.create(child("a-of-two", two), child("b-of-one", one))
	yes := true
	of := selected("app", "used")
	of.ResourceSelector.MatchControllerRef = &yes
	u := protects("u", of, "precious")
	u.OwnerReferences = controlledBy(one)
	w.create(u)
	w.ready(u)
	if ref := u.Spec.Of.ResourceRef; ref == nil || ref.Name != "b-of-one" {
		t.Errorf("resolved into %+v", ref)
	}
}

func controlledBy(owner *corev1.ConfigMap) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: &yes, BlockOwnerDeletion: &yes,
	}}
}

// testControlledUsage: the controller of a Usage would create the Usage again, so the Usage is
// kept after its using object, and protects nothing until a using object exists again.
func testControlledUsage(t *testing.T) {
	w := newWorld(t)
	composite, used, using := configMap("composite"), configMap("used"), configMap("using")
	w.create(composite, used, using)
	u := uses("u", named("using"), named("used"))
	u.OwnerReferences = controlledBy(composite)
	w.create(u)
	w.ready(u)
	w.refused(used)
	w.Delete(using)
	w.unready(u, "UsingNotFound")
	w.free(used)
	w.create(configMap("using"))
	w.ready(u)
	w.refused(used)
}

// testCEL: the messages of the published API, word for word.
func testCEL(t *testing.T) {
	w := newWorld(t)
	const (
		either    = `either a resource reference or a resource selector should be set.`
		byReason  = `either "spec.by" or "spec.reason" must be specified.`
		crossed   = `cross-namespace "spec.of" is not allowed without "spec.by" resource.`
		empty     = `an empty selector would match everything: give matchLabels or set matchControllerRef.`
		tooLong   = `Too long: may not be more than 253 bytes`
		malformed = `should match '^([a-z0-9]`
	)
	bare := sharedv1alpha1.Resource{APIVersion: "v1", Kind: "ConfigMap"}
	everything := bare
	everything.ResourceSelector = &sharedv1alpha1.ResourceSelector{}
	neither := protects("u", named("a"), "x")
	neither.Spec.Reason = nil
	badVersion, noKind, noVersion := named("a"), named("a"), named("a")
	badVersion.APIVersion, noKind.Kind, noVersion.APIVersion = "a/b/c", "", ""
	cases := map[string]struct {
		reason string
		u      usage
		want   string
	}{
		"of":             {"of says nothing", protects("u", bare, "x"), either},
		"by":             {"by says nothing", uses("u", bare, named("a")), either},
		"neither":        {"who for?", neither, byReason},
		"cross":          {"only for a reason", protects("u", in("elsewhere", named("a")), "x"), crossed},
		"cross selector": {"only for a reason", protects("u", in("elsewhere", selected("a", "b")), "x"), crossed},
		"empty selector": {"would match everything", protects("u", everything, "x"), empty},
		"long name":      {"no object has such a name", protects("u", named(strings.Repeat("n", 300)), "x"), tooLong},
		"a path":         {"no object has such a name", protects("u", named("a/../b"), "x"), "no object can have this name"},
		"apiVersion":     {"does not parse", protects("u", badVersion, "x"), malformed},
		"no kind":        {"is required", protects("u", noKind, "x"), "spec.of.kind"},
		"no apiVersion":  {"is required", protects("u", noVersion, "x"), "spec.of.apiVersion"},
		"long reason":    {"is a sentence, not a book", protects("u", named("a"), strings.Repeat("x", 2000)), "Too long"},
		"legacy":         {"the same for all kinds", legacy(protects(w.NS, bare, "x")), either},
		"cluster":        {"the same for all kinds", cluster(protects(w.NS, bare, "x")), either},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if err := w.tryCreate(c.u); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: answered with %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// testLarge: large objects are protected like others. The API server accepts at most 1 MiB in a
// ConfigMap and about 1.5 MB in a request to etcd.
func testLarge(t *testing.T) {
	w := newWorld(t)
	k := w.define("Large")
	cm := configMap("cm")
	cm.Data = map[string]string{"blob": strings.Repeat("x", 1<<20-100)}
	cr := k.object("cr")
	cr.Object["blob"] = strings.Repeat("x", 1_400_000)
	many := configMap("many")
	for i := range 10_000 {
		many.OwnerReferences = append(many.OwnerReferences, metav1.OwnerReference{
			// The garbage collector can't look up owners of this kind, so it deletes nothing.
			APIVersion: "ghosts.test/v1", Kind: "Ghost", Name: "g", UID: types.UID(fmt.Sprint(i)),
		})
	}
	w.create(cm, cr)
	u1, u2 := protects("u1", named("cm"), "precious"), protects("u2", k.end("cr"), "precious")
	w.create(u1, u2)
	w.ready(u1, u2)
	w.refused(cm)
	w.refused(cr)
	if err := w.tryCreate(many); err != nil {
		t.Logf("10,000 owner references: the API server says %v", err)
		return
	}
	u3 := protects("u3", named("many"), "precious")
	w.create(u3)
	w.ready(u3)
	w.refused(many)
}

// testLongNames: the longest names there are.
func testLongNames(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("n", 253)
	used := configMap(long)
	using := configMap(strings.Repeat("m", 253))
	w.create(used, using)
	u := uses(strings.Repeat("u", 253), named(using.Name), named(long))
	w.create(u)
	w.ready(u)
	if got := w.refused(used); !strings.Contains(got, "ConfigMap/"+using.Name) {
		t.Errorf("refused with %q", got)
	}
}
