package usage_test

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// override writes on an object which Usages its deletion is to ignore.
func (w *world) override(obj client.Object, names string) {
	w.T.Helper()
	w.Update(obj, func() {
		obj.SetAnnotations(map[string]string{"kinship.dev/override-usage": names})
	})
}

// testBreakGlass: the annotation alone has no effect; with the verb override the deletion is
// allowed, with an event.
func testBreakGlass(t *testing.T) {
	w := newWorld(t)
	used, _, u := w.protected(false)
	w.mayEdit("carol")
	w.mayEdit("dave")
	w.create(&rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "breaks-glass"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"protection.crossplane.io"}, Resources: []string{"usages"},
			ResourceNames: []string{"u"}, Verbs: []string{"override"},
		}},
	}, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "breaks-glass"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "dave"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "breaks-glass"},
	})
	w.override(used, "another, u")
	w.refusedAs(w.As("carol"), used)
	dave := w.As("dave")
	testenv.Eventually(t, func() error { return dave.Delete(t.Context(), used, client.DryRunAll) })
	if events := w.events(u, "Overridden"); len(events) > 0 {
		t.Errorf("a dry run is told as if it were one: %s", events[0].Note)
	}
	if err := dave.Delete(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	event := w.told(u, "Overridden")
	if !strings.HasPrefix(event.Note, "dave deleted ConfigMap/used") || event.Type != "Warning" {
		t.Errorf("%s event says %q", event.Type, event.Note)
	}
}

// testBreakGlassOther: a Usage that the annotation does not name still protects.
func testBreakGlassOther(t *testing.T) {
	w := newWorld(t)
	used, _, _ := w.protected(false)
	second := protects("v", named("used"), "precious")
	w.create(second)
	w.ready(second)
	w.override(used, "u")
	if got := w.refused(used); !strings.HasPrefix(got, `The resource is protected: "precious" (Usage v`) {
		t.Errorf("refused with %q, want the other Usage", got)
	}
	w.override(used, "u,v")
	w.Delete(used)
}

// testBreakGlassEviction: an eviction can break the glass as a deletion can,
// although its request does not show the Pod's annotations.
func testBreakGlassEviction(t *testing.T) {
	w := newWorld(t)
	p := pod("used")
	u := protects("u", resource("v1", "Pod", "used"), "precious")
	w.create(p, u)
	w.ready(u)
	evict := func() error {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}
		return w.C.SubResource("eviction").Create(t.Context(), p, eviction)
	}
	if err := evict(); !apierrors.IsConflict(err) {
		t.Errorf("eviction without the annotation was answered with %v", err)
	}
	w.override(p, "u")
	if err := evict(); err != nil {
		t.Error(err)
	}
	w.told(u, "Overridden")
}
