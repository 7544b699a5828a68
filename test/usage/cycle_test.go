package usage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// cycleTold is how long a circle may stay untold. Times in a status have whole seconds.
const cycleTold = time.Second

// testCycleRefused: a Usage that would close a circle is not taken in, and the
// whole circle is printed.
func testCycleRefused(t *testing.T) {
	for _, n := range []int{2, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var usages []usage
			ring := make([]string, n)
			for i := range n {
				w.create(configMap(fmt.Sprintf("cm%02d", i)))
				ring[i] = fmt.Sprintf("ConfigMap/cm%02d", i)
			}
			// cm00 is used by cm01 ... Each ConfigMap uses the ConfigMap before it.
			for i := 1; i < n; i++ {
				u := uses(fmt.Sprintf("u%02d", i), named(fmt.Sprintf("cm%02d", i)), named(fmt.Sprintf("cm%02d", i-1)))
				w.create(u)
				usages = append(usages, u)
			}
			w.ready(usages...)
			start := time.Now()
			err := w.tryCreate(uses("closes", named("cm00"), named(fmt.Sprintf("cm%02d", n-1))))
			if took := time.Since(start); took > cycleTold {
				t.Errorf("the Usage was refused after %s, want at most %s", took, cycleTold)
			}
			want := "the resources would use each other in a circle: ConfigMap/cm00"
			for i := n - 1; i >= 0; i-- {
				want += " -> " + ring[i]
			}
			if err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("answered with\n%v, want\n%s", err, want)
			}
		})
	}
}

// testCycleItself: nothing uses itself.
func testCycleItself(t *testing.T) {
	w := newWorld(t)
	err := w.tryCreate(uses("u", named("a"), named("a")))
	if err == nil || !strings.Contains(err.Error(), "a resource can't use itself") {
		t.Errorf("answered with %v", err)
	}
}

// testProtectsItself: a Usage of itself could never be deleted.
func testProtectsItself(t *testing.T) {
	w := newWorld(t)
	u := protects("u", named("u"), "precious")
	u.Spec.Of.APIVersion, u.Spec.Of.Kind = protectionv1beta1.GroupVersion.String(), "Usage"
	err := w.tryCreate(u)
	if err == nil || !strings.Contains(err.Error(), "a Usage can't protect itself") {
		t.Errorf("answered with %v", err)
	}
}

// circle creates a ring of two Usages that the admission handlers do not check, because the
// operator writes them: as if the webhooks were missing, or two Usages were created at once.
func (w *world) circle(change func(u usage)) (a, b client.Object, u1, u2 usage) {
	w.T.Helper()
	a, b = configMap("a"), configMap("b")
	w.create(a, b)
	first, second := uses("u1", named("a"), named("b")), uses("u2", named("b"), named("a"))
	change(first)
	change(second)
	w.create(first)
	w.ready(first)
	second.Namespace = w.NS
	if err := w.asOperator().Create(w.T.Context(), second); err != nil {
		w.T.Fatal(err)
	}
	return a, b, first, second
}

// testCycleCondition: if a ring exists nevertheless, every Usage has the reason Cycle, and the
// deletion of the whole ring completes.
func testCycleCondition(t *testing.T) {
	for name, change := range map[string]func(usage){
		"uncomposed": func(usage) {},
		"composed":   func(u usage) { u.SetLabels(map[string]string{"crossplane.io/composite": "it"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			a, b, u1, u2 := w.circle(change)
			for u, want := range map[usage]string{
				u1: "ConfigMap/a -> ConfigMap/b -> ConfigMap/a", u2: "ConfigMap/b -> ConfigMap/a -> ConfigMap/b",
			} {
				if message := w.unready(u, "Cycle"); !strings.Contains(message, want) {
					t.Errorf("message is %q, want the circle %s", message, want)
				}
				w.told(u, "Cycle")
				ready := meta.FindStatusCondition(u.UsageStatus().Conditions, "Ready")
				if took := ready.LastTransitionTime.Sub(u2.GetCreationTimestamp().Time); took > cycleTold {
					t.Errorf("%s told of the circle %s after it was closed, want at most %s", u.GetName(), took, cycleTold)
				}
			}
			w.goesWhole(a, b, u1, u2)
		})
	}
}

// testCycleBroken: one Usage of a ring is deleted, and the other Usages become Ready.
func testCycleBroken(t *testing.T) {
	w := newWorld(t)
	a, _, u1, u2 := w.circle(func(usage) {})
	w.unready(u1, "Cycle")
	w.unready(u2, "Cycle")
	w.Delete(u1)
	w.Gone(u1)
	w.ready(u2)
	w.refused(a)
}

// testCycleSelected: a new member of a set closes a ring. Every Usage of the ring gets the
// reason Cycle, even the Usage without the set.
func testCycleSelected(t *testing.T) {
	w := newWorld(t)
	a, c := configMap("a"), labelled("c", "app", "y")
	w.create(a, labelled("b", "app", "x"), c, configMap("d"))
	u1 := uses("u1", named("a"), all(selected("app", "x"))) // a uses every x
	u2 := uses("u2", named("c"), named("d"))
	u3 := uses("u3", named("d"), named("a"))
	w.create(u1, u2, u3)
	w.ready(u1, u2, u3)
	w.Update(c, func() { c.Labels["app"] = "x" })
	for u, want := range map[usage]string{
		u1: "ConfigMap/a -> ConfigMap/c -> ConfigMap/d -> ConfigMap/a",
		u2: "ConfigMap/c -> ConfigMap/d -> ConfigMap/a -> ConfigMap/c",
		u3: "ConfigMap/d -> ConfigMap/a -> ConfigMap/c -> ConfigMap/d",
	} {
		if message := w.unready(u, "Cycle"); !strings.Contains(message, want) {
			t.Errorf("message is %q, want the circle %s", message, want)
		}
	}
	w.Update(c, func() { c.Labels["app"] = "z" })
	w.ready(u1, u2, u3)
}

// testCycleOfSets: both ends of both Usages are sets. No member could ever be deleted.
func testCycleOfSets(t *testing.T) {
	w := newWorld(t)
	a, b := labelled("a", "app", "x"), labelled("b", "app", "y")
	w.create(a, b)
	u1 := composed(uses("u1", all(selected("app", "x")), all(selected("app", "y"))))
	w.create(u1)
	w.ready(u1)
	y2x := func() *protectionv1beta1.Usage {
		return composed(uses("u2", all(selected("app", "y")), all(selected("app", "x"))))
	}
	if err := w.tryCreate(y2x()); err == nil || !strings.Contains(err.Error(), "ConfigMap/b -> ConfigMap/a -> ConfigMap/b") {
		t.Errorf("answered with %v, want the circle", err)
	}
	// While a set is empty there is no circle.
	w.Update(b, func() { b.Labels = nil })
	u2 := y2x()
	testenv.Eventually(t, func() error { return w.tryCreate(u2) }) // The operator's watch shows the change a moment later.
	w.unready(u2, "UsingNotFound")
	w.Update(b, func() { b.Labels = map[string]string{"app": "y"} })
	w.unready(u1, "Cycle")
	w.unready(u2, "Cycle")
	w.goesWhole(a, b, u1, u2)
}

// testCycleOfFourSets: four sets use each other, and the empty set gets a member. All four
// Usages get the reason Cycle, even those two steps away.
func testCycleOfFourSets(t *testing.T) {
	w := newWorld(t)
	d := configMap("d")
	w.create(labelled("a", "set", "a"), labelled("b", "set", "b"), labelled("c", "set", "c"), d)
	link := func(by, of string) *protectionv1beta1.Usage {
		return uses(by+"-"+of, all(selected("set", by)), all(selected("set", of)))
	}
	ab, bc, cd, da := link("a", "b"), link("b", "c"), link("c", "d"), link("d", "a")
	locked := protects("locked", named("a"), "so that its lock does not change, which would wake others")
	w.create(ab, bc, cd, da, locked)
	w.ready(ab, bc, locked)
	w.unready(cd, "UsedNotFound")
	w.unready(da, "UsingNotFound")
	w.Update(d, func() { d.Labels = map[string]string{"set": "d"} })
	for _, u := range []usage{ab, bc, cd, da} {
		w.unready(u, "Cycle")
	}
	w.Update(d, func() { d.Labels = nil })
	w.ready(ab, bc)
}

// testManySets: large sets that use each other, without a ring, lie behind the used object.
// Admission finds this out in time.
func testManySets(t *testing.T) {
	const size = 100
	w := newWorld(t)
	for i := range size {
		for _, set := range []string{"x", "y", "z"} {
			w.create(labelled(fmt.Sprint(set, i), "set", set))
		}
	}
	w.create(configMap("cm"))
	xy, yz := uses("xy", all(selected("set", "x")), all(selected("set", "y"))),
		uses("yz", all(selected("set", "y")), all(selected("set", "z")))
	w.create(yz, xy)
	w.ready(yz, xy)
	u := uses("u", named("cm"), all(selected("set", "x")))
	w.create(u)
	w.ready(u)
	closing := uses("closing", all(selected("set", "z")), named("cm"))
	if err := w.tryCreate(closing); err == nil || !strings.Contains(err.Error(), "in a circle: ConfigMap/z") {
		t.Errorf("answered with %v, want the circle", err)
	}
}

// goesWhole deletes everything, some objects more than once, as a user does who deletes a
// composition, and waits for the end of all deletions.
func (w *world) goesWhole(objects ...client.Object) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		var left []error
		for _, obj := range objects {
			if err := w.C.Delete(w.T.Context(), obj); !apierrors.IsNotFound(err) {
				left = append(left, fmt.Errorf("%s is there: %w", obj.GetName(), err))
			}
		}
		return errors.Join(left...)
	})
}

// testSetUsesItself: the set that uses is the set that is used.
func testSetUsesItself(t *testing.T) {
	w := newWorld(t)
	err := w.tryCreate(uses("u", all(selected("app", "x")), all(selected("app", "x"))))
	if err == nil || !strings.Contains(err.Error(), "a resource can't use itself") {
		t.Errorf("answered with %v", err)
	}
}
