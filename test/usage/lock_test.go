package usage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testRecreated: the used object is deleted and created again. In between, Effective is False,
// and then the new object is protected at once.
func testRecreated(t *testing.T) {
	w := newWorld(t)
	used, _, u := w.protected(false)
	w.override(used, "u")
	w.Delete(used)
	if message := w.unready(u, "UsedNotFound"); !strings.Contains(message, "ConfigMap/used in namespace "+w.NS) {
		t.Errorf("message %q does not name the object", message)
	}
	if isReady(u) == nil || condition(u, "Effective").Status != metav1.ConditionFalse {
		t.Errorf("conditions %+v", u.Status.Conditions)
	}
	again := configMap("used")
	w.create(again)
	testenv.EventuallyWithin(t, promptly, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		return isReady(u)
	})
	w.locked(again)
	w.refused(again)
}

func condition(u usage, kind string) metav1.Condition {
	for _, c := range u.UsageStatus().Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// testStripped: no user can remove the lock, by any request.
func testStripped(t *testing.T) {
	w := newWorld(t)
	u := func(name string) usage { return protects(name, resource("v1", "Pod", name), "precious") }
	cases := map[string]struct {
		reason string
		strip  func(*testing.T, *corev1.Pod) error
	}{
		"kubectl label": {"removes the label", func(t *testing.T, p *corev1.Pod) error {
			_, err := w.kubectl("label", "pod", p.Name, lock+"-")
			return err
		}},
		"kubectl label false": {"gives it another value", func(t *testing.T, p *corev1.Pod) error {
			_, err := w.kubectl("label", "pod", p.Name, "--overwrite", lock+"=false")
			return err
		}},
		"replace": {"writes an object without labels", func(t *testing.T, p *corev1.Pod) error {
			p = p.DeepCopy()
			return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // With the writers of its status.
				if err := w.Read(p); err != nil {
					return err
				}
				p.Labels = nil
				return w.C.Update(t.Context(), p)
			})
		}},
		"apply": {"takes the label over and then drops it", func(t *testing.T, p *corev1.Pod) error {
			for _, labels := range []string{lock + `: "false"`, ""} {
				text := fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {%s}}}", p.Name, labels)
				if _, err := testenv.TryApply(t, text, testenv.In(w.NS)); err != nil {
					return err
				}
			}
			return nil
		}},
		"status": {"a status request can change labels too", func(t *testing.T, p *corev1.Pod) error {
			patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, lock)
			return w.C.Status().Patch(t.Context(), p, client.RawPatch(types.MergePatchType, patch))
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := pod(strings.ReplaceAll(name, " ", "-"))
			w.create(p)
			protection := u(p.Name)
			w.create(protection)
			w.ready(protection)
			if err := w.Read(p); err != nil {
				t.Fatal(err)
			}
			// If the API server can't add the label again, it refuses the request.
			if err := c.strip(t, p); err != nil {
				t.Errorf("%s: %v", c.reason, err)
			}
			w.refused(p)
			if err := w.Read(p); err != nil || p.Labels[lock] != "true" {
				t.Errorf("%s: labels are %v, error %v", c.reason, p.Labels, err)
			}
		})
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
}

// testEviction: the drain of a node fails while a Pod of the node is used.
func testEviction(t *testing.T) {
	w := newWorld(t)
	p := pod("used")
	w.create(p)
	u := protects("u", resource("v1", "Pod", "used"), "precious")
	w.create(u)
	w.ready(u)
	evict := func() error {
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}
		return w.C.SubResource("eviction").Create(t.Context(), p, eviction)
	}
	if err := evict(); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"precious" (Usage u in`) {
		t.Errorf("eviction was answered with %v", err)
	}
	w.Exists(p)
	w.Delete(u)
	w.Gone(u)
	testenv.EventuallyWithin(t, promptly, evict)
}

// testSpecChanges: the former spec of a changed Usage leaves no trace.
func testSpecChanges(t *testing.T) {
	cases := map[string]struct {
		reason       string
		spec         func(*world) usage
		change       func(u usage)
		free, locked []string
		owners       []string
	}{
		"of": {
			"another object is protected", plain,
			func(u usage) { u.UsageSpec().Of.ResourceRef.Name = "used2" },
			[]string{"used"},
			[]string{"used2"},
			[]string{"using"},
		},
		"by": {
			"another object uses it", plain,
			func(u usage) { u.UsageSpec().By.ResourceRef.Name = "using2" },
			nil,
			[]string{"used"},
			[]string{"using2"},
		},
		"by removed": {
			"only the reason is left", plain,
			func(u usage) { u.UsageSpec().By, u.UsageSpec().Reason = nil, &[]string{"precious"}[0] },
			nil,
			[]string{"used"},
			nil,
		},
		"selector of the used": {
			"a set shrinks to another one", func(*world) usage { return uses("u", named("using"), all(selected("app", "used"))) },
			func(u usage) { u.UsageSpec().Of.ResourceSelector.MatchLabels["app"] = "used2" },
			[]string{"used"},
			[]string{"used2"},
			[]string{"using"},
		},
		"selector instead of the using": {
			"a set has no owner reference", plain,
			func(u usage) {
				u.UsageSpec().By.ResourceRef = nil
				u.UsageSpec().By.ResourceSelector = all(selected("app", "using2")).ResourceSelector
			},
			nil,
			[]string{"used"},
			nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, name := range []string{"used", "used2", "using", "using2"} {
				w.create(labelled(name, "app", name))
			}
			u := c.spec(w)
			w.create(u)
			w.ready(u)
			w.Update(u, func() { c.change(u) })
			w.ready(u)
			for want, names := range map[string][]string{"": c.free, "true": c.locked} {
				for _, name := range names {
					cm := configMap(name)
					cm.Namespace = w.NS
					w.lockIs(want, cm)
				}
			}
			if got := owners(u); got != strings.Join(c.owners, ",") {
				t.Errorf("%s: owners are %q, want %q", c.reason, got, c.owners)
			}
		})
	}
}

func plain(*world) usage { return uses("u", named("using"), named("used")) }

func owners(u usage) string {
	var names []string
	for _, o := range u.GetOwnerReferences() {
		names = append(names, o.Name)
	}
	return strings.Join(names, ",")
}

// testByChangedToMissing: the new using object does not exist. The deletion of the old using
// object must not delete the Usage, which does not name it any more.
func testByChangedToMissing(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(false)
	w.Update(u, func() { u.Spec.By.ResourceRef.Name = "later" })
	w.unready(u, "UsingNotFound")
	w.free(used)
	if got := owners(u); got != "" {
		t.Errorf("owners are %q, want none", got)
	}
	w.Delete(using)
	w.Gone(using)
	w.create(configMap("later"))
	w.ready(u)
	if got := owners(u); got != "later" {
		t.Errorf("owners are %q, want later", got)
	}
	w.refused(used)
}

// testNeverExisted: an object that never existed uses nothing.
func testNeverExisted(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	u := uses("u", named("later"), named("used"))
	w.create(u)
	want := "spec.by: waiting for ConfigMap/later in namespace " + w.NS + " to exist; nothing is protected until then"
	if message := w.unready(u, "UsingNotFound"); message != want {
		t.Errorf("message is %q, want %q", message, want)
	}
	if e := condition(u, "Effective"); e.Status != metav1.ConditionFalse {
		t.Errorf("Effective is %+v", e)
	}
	w.awaitProcessed()
	w.free(used)
	if err := w.C.Delete(t.Context(), used, client.DryRunAll); err != nil {
		t.Errorf("nothing uses it, and yet: %v", err)
	}
	w.create(configMap("later"))
	testenv.EventuallyWithin(t, promptly, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		return isReady(u)
	})
	w.refused(used)
}

// testUsingRecreated: a recreated using object is another object. The protection ended with the
// first object, with an event on the used object.
func testUsingRecreated(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(false)
	set := uses("set", all(selected("app", "using")), named("used"))
	w.create(labelled("member", "app", "using"), set)
	w.ready(set)
	w.Delete(using)
	w.create(configMap("using"))
	w.goneWithin(promptly, u)
	event := w.told(used, "ProtectionEnded")
	if want := "ConfigMap/using was deleted, for which Usage.protection.crossplane.io/u in namespace " + w.NS +
		" protected this object"; event.Note != want {
		t.Errorf("event says %q, want %q", event.Note, want)
	}

	member := configMap("member")
	member.Namespace = w.NS
	w.Delete(member)
	if message := w.unready(set, "UsingNotFound"); !strings.Contains(message, "app=using") {
		t.Errorf("message %q does not name the set", message)
	}
	w.free(used)
	w.create(labelled("member", "app", "using"))
	w.ready(set)
	w.refused(used)
}

// testUsedLater: the used object comes after its Usage.
func testUsedLater(t *testing.T) {
	w := newWorld(t)
	u := protects("u", named("later"), "precious")
	w.create(u)
	if message := w.unready(u, "UsedNotFound"); message != "spec.of: waiting for ConfigMap/later in namespace "+w.NS+" to exist" {
		t.Errorf("message is %q", message)
	}
	later := configMap("later")
	w.create(later)
	testenv.EventuallyWithin(t, promptly, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		return isReady(u)
	})
	w.refused(later)
}

// testUsedGoing: protection comes too late for an object that is on its way out,
// and says so.
func testUsedGoing(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	used.Finalizers = []string{finalizer}
	w.create(used)
	w.Delete(used)
	u := protects("u", named("used"), "precious")
	w.create(u)
	if message := w.unready(u, "UsedNotFound"); !strings.Contains(message, "already being deleted") {
		t.Errorf("message is %q", message)
	}
	w.Update(used, func() { used.Finalizers = nil })
	w.Gone(used)
}

// testConditions: Ready and Effective at every stage, and never too early.
func testConditions(t *testing.T) {
	w := newWorld(t)
	used, using := configMap("used"), configMap("using")
	w.create(used, using)
	u := uses("u", named("using"), named("used"))
	w.create(u)
	if u.Status.ObservedGeneration != -1 {
		t.Errorf("status.observedGeneration is %d at creation, want -1", u.Status.ObservedGeneration)
	}
	w.ready(u)
	type words struct {
		Type, Status, Reason, Message string
		ObservedGeneration            int64
	}
	for _, want := range []words{
		{"Ready", "True", "Available", "ConfigMap/using uses ConfigMap/used", 1},
		{"Effective", "True", "Locked", "Deletion is refused.", 1},
	} {
		c := condition(u, want.Type)
		if got := (words{c.Type, string(c.Status), c.Reason, c.Message, c.ObservedGeneration}); got != want {
			t.Errorf("condition is %+v, want %+v", got, want)
		}
	}
	if owners(u) != "using" || u.Status.Using == nil || u.Status.Using.UID != using.UID {
		t.Errorf("bound to %+v, owners %q", u.Status.Using, owners(u))
	}
	w.Update(u, func() { u.Spec.Of.ResourceRef.Name = "missing" })
	w.unready(u, "UsedNotFound")
	if u.Status.ObservedGeneration != 2 {
		t.Errorf("status is about generation %d, want 2", u.Status.ObservedGeneration)
	}
}

// testEvents: both objects have events. A Usage that is Ready at once has no event; a Usage
// that had to wait has one.
func testEvents(t *testing.T) {
	w := newWorld(t)
	using, u := configMap("using"), uses("u", named("using"), named("used"))
	w.create(using, u)
	w.unready(u, "UsedNotFound")
	used := configMap("used")
	w.create(used)
	w.ready(u)
	configured := w.told(u, "UsageConfigured")
	if configured.Note != "ConfigMap/using uses ConfigMap/used" || configured.Type != "Normal" {
		t.Errorf("%s event says %q", configured.Type, configured.Note)
	}
	if r := configured.Related; r == nil || r.Name != "used" || r.Kind != "ConfigMap" {
		t.Errorf("event is related to %+v, want the used object", r)
	}
	w.Delete(using)
	w.told(used, "ProtectionEnded")
}

// testEndedByCollector: the garbage collector follows the owner reference before the
// operator has deleted the Usage. The used object's owner is told all the same.
func testEndedByCollector(t *testing.T) {
	w := newWorld(t)
	used, using, u := w.protected(false)
	look := sent.delay(t, method("DELETE"), about(w.NS+"/usages/"+u.Name))
	w.Delete(using)
	testenv.Eventually(t, func() error {
		if err := w.Read(u); err != nil { // The collector may be quick.
			return client.IgnoreNotFound(err)
		}
		if u.DeletionTimestamp == nil {
			return fmt.Errorf("the garbage collector has not deleted the Usage")
		}
		return nil
	})
	look.letGo()
	w.goneWithin(promptly, u)
	w.told(used, "ProtectionEnded")
}

// testDirectStatus: only the operator writes the status.
func testDirectStatus(t *testing.T) {
	w := newWorld(t)
	_, _, u := w.protected(true)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"refused": []map[string]any{{
		"target": map[string]any{"kind": "ConfigMap", "name": "used", "namespace": w.NS, "uid": "x"},
		"user":   "admin", "time": "2030-01-01T00:00:00Z",
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	err = w.C.Status().Patch(t.Context(), u, client.RawPatch(types.MergePatchType, patch))
	if err == nil || !strings.Contains(err.Error(), "only Kinship may write") {
		t.Errorf("writing the status was answered with %v", err)
	}
}
