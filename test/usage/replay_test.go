package usage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

const garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"

// protected creates an object and its using object, with or without replay.
func (w *world) protected(replay bool) (used, using *corev1.ConfigMap, u *protectionv1beta1.Usage) {
	w.T.Helper()
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

// mayEdit gives a user the rights of an editor in the test's namespace.
func (w *world) mayEdit(user string) *rbacv1.RoleBinding {
	w.T.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "may-" + user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
	}
	w.create(binding)
	c := w.As(user)
	testenv.Eventually(w.T, func() error { // The API server learns of rights by a watch.
		return c.List(w.T.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.NS))
	})
	return binding
}

// testReplay: a refused deletion is carried out when it is allowed, with the options of the
// request.
func testReplay(t *testing.T) {
	orphan := metav1.DeletePropagationOrphan
	var old metav1.DeleteOptions
	if err := json.Unmarshal([]byte(`{"orphanDependents": true}`), &old); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason   string
		used     client.Object
		opts     []client.DeleteOption
		recorded metav1.DeletionPropagation
		kept     bool // objects that the object owns
	}{
		"Orphan": {"he said so", configMap("used"), []client.DeleteOption{client.PropagationPolicy(orphan)}, orphan, true},
		"orphanDependents": {
			"he said so in the old way", configMap("used"),
			[]client.DeleteOption{&client.DeleteOptions{Raw: &old}},
			orphan, true,
		},
		"nothing said":          {"nothing is kept", configMap("used"), nil, "", false},
		"nothing said of a Job": {"for Jobs that means to keep what they own", suspended("used"), nil, "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			using, dependent := configMap("using"), configMap("dependent")
			w.create(c.used, using)
			kind, end := "ConfigMap", named("used")
			if _, job := c.used.(*batchv1.Job); job {
				kind, end = "Job.batch", resource("batch/v1", "Job", "used")
			}
			w.owned(c.used, dependent)
			u := replaying(uses("u", named("using"), end))
			w.create(u)
			w.ready(u)
			w.mayEdit("alice")
			w.refusedAs(w.As("alice"), c.used, c.opts...)
			w.recorded(u, c.used, "alice", c.recorded)
			w.Exists(c.used)
			w.Delete(using)
			w.goneWithin(promptly, c.used) // After the orphaned objects have lost their owner.
			event := w.told(u, "ReplayDeletion")
			if want := fmt.Sprintf("deleted %s/used in namespace %s, as alice had asked", kind, w.NS); event.Note != want {
				t.Errorf("event says %q, want %q", event.Note, want)
			}
			replays := sent.requests(about("used"), about(w.NS), method("DELETE"), effective)
			policy := fmt.Sprintf(`"propagationPolicy":%q`, c.recorded)
			if len(replays) != 1 || strings.Contains(replays[0].body, policy) != (c.recorded != "") {
				t.Errorf("want one deletion, as it was asked for; the operator sent:\n%s", replays)
			}
			if !c.kept {
				w.Gone(dependent)
			} else if w.Exists(dependent); len(dependent.OwnerReferences) > 0 {
				t.Errorf("%s: what the object owned goes with it", c.reason)
			}
		})
	}
}

// suspended makes a Job that runs nothing.
func suspended(name string) *batchv1.Job {
	yes := true
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Suspend: &yes, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}},
		}}},
	}
}

// recorded fails unless a Usage has exactly this on record.
func (w *world) recorded(
	u *protectionv1beta1.Usage, used client.Object, user string, policy metav1.DeletionPropagation,
) {
	w.T.Helper()
	if err := w.Read(u); err != nil {
		w.T.Fatal(err)
	}
	if len(u.Status.Refused) != 1 {
		w.T.Fatalf("recorded is %+v", u.Status.Refused)
	}
	refused := u.Status.Refused[0]
	if refused.User != user || refused.PropagationPolicy != policy ||
		refused.Target.UID != used.GetUID() || refused.Target.Name != used.GetName() ||
		time.Since(refused.Time.Time) > time.Minute {
		w.T.Errorf("recorded is %+v", refused)
	}
}

// testNoReplay: a deletion is not recorded if replay is not requested.
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
			if err := w.Read(u); err != nil || u.ResourceVersion != before || len(u.Status.Refused) != 0 {
				t.Errorf("%s: error %v, status %+v", c.reason, err, u.Status)
			}
			w.Delete(using)
			w.goneWithin(promptly, u)
			w.free(used)
			w.Exists(used)
		})
	}
}

// testReplayUID: while the replay is sent, the object is replaced by another object of its
// name, whose deletion was never requested.
func testReplayUID(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	replay := sent.delay(t, method("DELETE"), about(w.NS+"/configmaps/used"), effective)
	w.Delete(using)
	replay.await(t)
	w.Delete(used)
	another := configMap("used")
	w.create(another)
	replay.letGo()
	w.goneWithin(promptly, u)
	w.Exists(another)
	if event := w.told(u, "ReplayRefused"); !strings.Contains(event.Note, "used") {
		t.Errorf("event says %q", event.Note)
	}
}

// testReplayExpiry: a record that is too old is dropped. Only the operator may write a record,
// so the test acts as the operator.
func testReplayExpiry(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	if err := w.Read(u); err != nil {
		t.Fatal(err)
	}
	u.Status.Refused[0].Time = metav1.NewTime(time.Now().Add(-expiry - time.Minute))
	if err := w.asOperator().Status().Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(used)
	w.Exists(used)
}

// testReplayRights: if the refused user has lost the right, the object is not deleted.
func testReplayRights(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	binding := w.mayEdit("bob")
	w.refusedAs(w.As("bob"), used)
	w.Delete(binding)
	bob := w.As("bob")
	testenv.Eventually(t, func() error {
		if bob.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.NS)) == nil {
			return fmt.Errorf("bob may still list")
		}
		return nil
	})
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.told(u, "ReplayForbidden")
	w.free(used)
	w.Exists(used)
}

// testReplayHandedOver: the Usage with the record is deleted before another Usage of the
// object.
func testReplayHandedOver(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	other := configMap("other")
	w.create(other)
	heir := replaying(uses("v", named("other"), named("used")))
	w.create(heir)
	w.ready(heir)
	w.refused(used)
	if err := w.Read(u); err != nil || len(u.Status.Refused) == 0 {
		t.Fatalf("the first Usage keeps no record: %v", err)
	}
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.refused(used, client.DryRunAll)
	w.Exists(used)
	w.Delete(other)
	w.goneWithin(promptly, used)
}

// testReplayHeirGoes: the record is handed over to a Usage that is deleted at the same moment.
// The record must not be lost.
func testReplayHeirGoes(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	heir := replaying(protects("v", named("used"), "precious"))
	w.create(heir)
	w.ready(heir)
	w.refused(used)
	handOver := sent.delay(t, method("PATCH"), about(w.NS+"/usages/v/status"))
	w.Delete(using)
	handOver.await(t)
	w.Delete(heir)
	w.Gone(heir)
	handOver.letGo()
	w.Gone(u)
	w.goneWithin(promptly, used)
}

// testReplayUndecided: a Usage with a record is deleted while it is Undecided whether another
// Usage, which would not take the record, holds the object.
func testReplayUndecided(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	k := w.define("Unread")
	reading := sent.delay(t, at("/apis/"+k.group+"/v1/"+k.plural()))
	other := uses("v", k.end("x"), named("used"))
	w.create(other)
	reading.await(t)
	w.unready(other, "Reading")
	w.Delete(using)
	w.unready(u, "Releasing")
	w.Exists(used)
	reading.letGo()
	w.Gone(used, u)
}

// testReplayTaken: while the replay is sent, another Usage of the object is created. The
// deletion is refused once more, and carried out after this Usage.
func testReplayTaken(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	other := configMap("other")
	w.create(other)
	w.refused(used)
	replay := sent.delay(t, method("DELETE"), about(w.NS+"/configmaps/used"), effective)
	w.Delete(using)
	replay.await(t)
	heir := replaying(uses("v", named("other"), named("used")))
	w.create(heir)
	w.ready(heir)
	replay.letGo()
	w.Gone(u)
	w.Exists(used)
	w.Delete(other)
	w.Gone(used)
}

// testReplayDenied: another webhook denies the replay, with the status code of a failure. The
// denial is final: the Usage does not wait for another answer.
func testReplayDenied(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(true)
	w.refused(used)
	w.deny("used", http.StatusInternalServerError)
	w.Delete(using)
	w.Gone(u)
	w.Exists(used)
	if event := w.told(u, "ReplayRefused"); !strings.Contains(event.Note, "denied the request") {
		t.Errorf("event says %q", event.Note)
	}
}

// deny has a webhook deny that a ConfigMap of the namespace is deleted.
func (w *world) deny(name string, code int32) {
	w.T.Helper()
	sign := configMap("denied-too")
	w.create(sign)
	testenv.JudgeDeletions(w.T, w.NS, corev1.SchemeGroupVersion.WithResource("configmaps"),
		func(r *admissionv1.AdmissionRequest) *metav1.Status {
			if r.Name == name || r.Name == sign.Name {
				return &metav1.Status{Code: code, Message: "not today"}
			}
			return nil
		})
	testenv.Eventually(w.T, func() error { // The API server sees it by a watch.
		if err := w.C.Delete(w.T.Context(), sign, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "not today") {
			return fmt.Errorf("deletion was answered with %w", err)
		}
		return nil
	})
}

// owned creates objects with an owner.
func (w *world) owned(owner client.Object, objects ...client.Object) {
	w.T.Helper()
	yes := true
	gvk, err := w.C.GroupVersionKindFor(owner)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, obj := range objects {
		obj.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Name: owner.GetName(), UID: owner.GetUID(),
			BlockOwnerDeletion: &yes,
		}})
		w.create(obj)
	}
}

// testGarbageCollector: a refused deletion of the garbage collector does not wait for its next
// attempt, which can be minutes away, even without spec.replayDeletion.
func testGarbageCollector(t *testing.T) {
	w := newWorld(t)
	owner, using, used := configMap("owner"), configMap("using"), configMap("used")
	w.create(owner, using)
	used.Finalizers = []string{finalizer} // So that the collector's own next attempt can't delete it before the replay.
	w.owned(owner, used)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	w.ready(u)
	w.Delete(owner)
	testenv.Eventually(t, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		if r := u.Status.Refused; len(r) != 1 || r[0].User != garbageCollector {
			return fmt.Errorf("recorded is %+v", r)
		}
		return nil
	})
	w.Delete(using)
	w.goneWithin(promptly, u) // After the replay.
	replays := sent.requests(about(w.NS+"/configmaps/used"), method("DELETE"), effective)
	if len(replays) != 1 {
		t.Errorf("the operator deleted %d times:\n%s", len(replays), replays)
	}
	w.Update(used, func() { used.Finalizers = nil })
	w.Gone(used)
}

// testGarbageCollectorSet: refused deletions of the garbage collector are replayed for all
// objects that one Usage protects.
func testGarbageCollectorSet(t *testing.T) {
	w := newWorld(t)
	owner, using := configMap("owner"), configMap("using")
	w.create(owner, using)
	used := []client.Object{labelled("a", "app", "x"), labelled("b", "app", "x"), labelled("c", "app", "x")}
	for _, obj := range used { // So that the collector's own next attempt deletes none before the replay.
		obj.SetFinalizers([]string{finalizer})
	}
	w.owned(owner, used...)
	u := uses("u", named("using"), all(selected("app", "x")))
	w.create(u)
	w.ready(u)
	w.Delete(owner)
	testenv.Eventually(t, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		if n := len(u.Status.Refused); n != len(used) {
			return fmt.Errorf("%d deletions are recorded", n)
		}
		return nil
	})
	w.Delete(using)
	w.Gone(u)
	replays := sent.requests(about(w.NS+"/configmaps"), method("DELETE"), effective)
	if len(replays) != len(used) {
		t.Errorf("of %d objects the operator deleted %d:\n%s", len(used), len(replays), replays)
	}
	for _, obj := range used {
		w.Update(obj, func() { obj.SetFinalizers(nil) })
	}
	w.Gone(used...)
}
