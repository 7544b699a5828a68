package usage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

const garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"

// protected makes an object in use by another one, with or without replay.
func (w *world) protected(replay bool) (used, using *corev1.ConfigMap, u *protectionv1beta1.Usage) {
	w.t.Helper()
	used, using = configMap("used"), configMap("using")
	w.create(used, using)
	u = uses("u", named("using"), named("used"))
	if replay {
		replaying(u)
	}
	w.create(u)
	w.ready(u)
	return used, using, u
}

// mayEdit lets a user do in the test's namespace what an editor may.
func (w *world) mayEdit(user string) *rbacv1.RoleBinding {
	w.t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "may-" + user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	w.create(binding)
	c := w.as(user)
	testenv.Eventually(w.t, func() error { // The API server learns of rights by a watch.
		return c.List(w.t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.ns))
	})
	return binding
}

// testReplay: what a user was refused is done when it may be done, as he asked
// for it.
func testReplay(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.mayEdit("alice")
	w.refusedAs(w.as("alice"), used, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	if err := w.read(u); err != nil {
		t.Fatal(err)
	}
	if len(u.Status.Refused) != 1 {
		t.Fatalf("recorded is %+v", u.Status.Refused)
	}
	refused := u.Status.Refused[0]
	if refused.User != "alice" || refused.PropagationPolicy != metav1.DeletePropagationOrphan ||
		refused.Target.UID != used.UID || refused.Target.Name != "used" || time.Since(refused.Time.Time) > time.Minute {
		t.Errorf("recorded is %+v", refused)
	}
	w.exists(used)
	w.delete(using)
	w.goneWithin(promptly, used)
	event := w.told(u, "ReplayDeletion")
	if want := fmt.Sprintf("deleted ConfigMap/used in namespace %s, as alice had asked", w.ns); event.Note != want {
		t.Errorf("event says %q, want %q", event.Note, want)
	}
	replays := sent.requests(about("configmaps/used"), about(w.ns), method("DELETE"), effective)
	if len(replays) != 1 || !strings.Contains(replays[0].body, `"propagationPolicy":"Orphan"`) {
		t.Errorf("want one deletion, as it was asked for; the operator sent:\n%s", replays)
	}
}

// testNoReplay: nothing is recorded of what nobody asked to be repeated.
func testNoReplay(t *testing.T) {
	cases := map[string]struct {
		reason string
		replay bool
		opts   []client.DeleteOption
	}{
		"dry run":    {"who tries does not ask", true, []client.DeleteOption{client.DryRunAll}},
		"not wanted": {"the Usage does not ask for replay", false, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			used, using, u := w.protected(c.replay)
			before := u.ResourceVersion
			w.refused(used, c.opts...)
			if err := w.read(u); err != nil || u.ResourceVersion != before || len(u.Status.Refused) != 0 {
				t.Errorf("%s: error %v, status %+v", c.reason, err, u.Status)
			}
			w.delete(using)
			w.goneWithin(promptly, u)
			w.free(used)
			w.exists(used)
		})
	}
}

// testReplayUID: while the replay is on its way, the object that it is about is
// replaced by another one of its name, which nobody asked to delete.
func testReplayUID(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	replay := sent.hold(t, func(r request) bool {
		return r.method == "DELETE" && about(w.ns+"/configmaps/used")(r) && effective(r)
	})
	w.delete(using)
	replay.await(t)
	w.delete(used)
	another := configMap("used")
	w.create(another)
	replay.letGo()
	w.goneWithin(promptly, u)
	w.exists(another)
	if event := w.told(u, "ReplayRefused"); !strings.Contains(event.Note, "used") {
		t.Errorf("event says %q", event.Note)
	}
}

// testReplayExpiry: a record that is too old is forgotten. Only the operator may
// write one, so the test is the operator for a moment.
func testReplayExpiry(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	if err := w.read(u); err != nil {
		t.Fatal(err)
	}
	u.Status.Refused[0].Time = metav1.NewTime(time.Now().Add(-expiry - time.Minute))
	if err := w.asOperator().Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	w.delete(using)
	w.goneWithin(promptly, u)
	w.free(used)
	w.exists(used)
}

// testReplayRights: who may not delete any more does not get it deleted.
func testReplayRights(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	binding := w.mayEdit("bob")
	w.refusedAs(w.as("bob"), used)
	w.delete(binding)
	bob := w.as("bob")
	testenv.Eventually(t, func() error {
		if bob.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.ns)) == nil {
			return fmt.Errorf("bob may still list")
		}
		return nil
	})
	w.delete(using)
	w.goneWithin(promptly, u)
	w.told(u, "ReplayForbidden")
	w.free(used)
	w.exists(used)
}

// testReplayHandedOver: the Usage that keeps the record goes before another one
// that still needs the object.
func testReplayHandedOver(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	other := configMap("other")
	w.create(other)
	heir := replaying(uses("v", named("other"), named("used")))
	w.create(heir)
	w.ready(heir)
	w.refused(used)
	if err := w.read(u); err != nil || len(u.Status.Refused) == 0 {
		t.Fatalf("the first Usage keeps no record: %v", err)
	}
	w.delete(using)
	w.goneWithin(promptly, u)
	w.refused(used, client.DryRunAll)
	w.exists(used)
	w.delete(other)
	w.goneWithin(promptly, used)
}

// testReplayHeirGoes: the record is handed over to a Usage that goes at the same
// moment. It must not go with it.
func testReplayHeirGoes(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	heir := replaying(protects("v", named("used"), "precious"))
	w.create(heir)
	w.ready(heir)
	w.refused(used)
	handOver := sent.hold(t, func(r request) bool {
		return r.method == "PATCH" && about(w.ns+"/usages/v/status")(r)
	})
	w.delete(using)
	handOver.await(t)
	w.delete(heir)
	w.gone(heir)
	handOver.letGo()
	w.gone(u)
	w.goneWithin(promptly, used)
}

// owned makes objects owned by another one.
func (w *world) owned(owner client.Object, kind string, objects ...client.Object) {
	w.t.Helper()
	yes := true
	for _, obj := range objects {
		obj.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &yes,
		}})
		w.create(obj)
	}
}

// testGarbageCollector: what the garbage collector was refused does not wait for
// its next attempt, which can be minutes away. No Usage has to ask for that.
func testGarbageCollector(t *testing.T) {
	w := newWorld(t)
	owner, using, used := configMap("owner"), configMap("using"), configMap("used")
	w.create(owner, using)
	used.Finalizers = []string{finalizer} // So that it can't go before the replay, by the collector's own next attempt.
	w.owned(owner, "ConfigMap", used)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	w.delete(owner)
	testenv.Eventually(t, func() error {
		if err := w.read(u); err != nil {
			return err
		}
		if r := u.Status.Refused; len(r) != 1 || r[0].User != garbageCollector {
			return fmt.Errorf("recorded is %+v", r)
		}
		return nil
	})
	w.delete(using)
	w.goneWithin(promptly, u) // After the replay.
	replays := sent.requests(about(w.ns+"/configmaps/used"), method("DELETE"), effective)
	if len(replays) != 1 {
		t.Errorf("the operator deleted %d times:\n%s", len(replays), replays)
	}
	w.update(used, func() { used.Finalizers = nil })
	w.gone(used)
}

// testGarbageCollectorSet: what the garbage collector was refused is replayed for
// all objects that one Usage protects.
func testGarbageCollectorSet(t *testing.T) {
	w := newWorld(t)
	owner, using := configMap("owner"), configMap("using")
	w.create(owner, using)
	used := []client.Object{labelled("a", "app", "x"), labelled("b", "app", "x"), labelled("c", "app", "x")}
	for _, obj := range used { // So that none goes before the replay, by the collector's own next attempt.
		obj.SetFinalizers([]string{finalizer})
	}
	w.owned(owner, "ConfigMap", used...)
	u := uses("u", named("using"), all(selected("app", "x")))
	w.create(u)
	w.ready(u)
	w.delete(owner)
	testenv.Eventually(t, func() error {
		if err := w.read(u); err != nil {
			return err
		}
		if n := len(u.Status.Refused); n != len(used) {
			return fmt.Errorf("%d deletions are recorded", n)
		}
		return nil
	})
	w.delete(using)
	w.gone(u)
	replays := sent.requests(about(w.ns+"/configmaps"), method("DELETE"), effective)
	if len(replays) != len(used) {
		t.Errorf("of %d objects the operator deleted %d:\n%s", len(used), len(replays), replays)
	}
	for _, obj := range used {
		w.update(obj, func() { obj.SetFinalizers(nil) })
	}
	w.gone(used...)
}
