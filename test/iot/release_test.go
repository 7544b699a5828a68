package iot_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/iot"
)

func (w *world) release(name string, version int32) *iotv1alpha1.IotConnectorRelease {
	r := &iotv1alpha1.IotConnectorRelease{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	r.Spec.Version = version
	return r
}

// released waits for the Ready condition of a release in its present generation.
func (w *world) released(r *iotv1alpha1.IotConnectorRelease, status metav1.ConditionStatus, reason string) string {
	w.T.Helper()
	message := ""
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		found := meta.FindStatusCondition(r.Status.Conditions, "Ready")
		if found == nil || found.Status != status || found.Reason != reason || found.ObservedGeneration != r.Generation {
			return fmt.Errorf("%+v", r.Status)
		}
		message = found.Message
		return nil
	})
	return message
}

// testRolloutFirstStep is "IotConnector upgrade requests will continue to have
// their 'Version' attribute set to 0": nothing changes.
func testRolloutFirstStep(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	before := c.DeepCopy()
	r := w.release("rollout", 0)
	r.Spec.Images = map[string]string{"Normalization": "never"}
	w.Create(r)
	w.released(r, metav1.ConditionTrue, "UpToDate")
	w.ready(c)
	if c.ResourceVersion != before.ResourceVersion {
		t.Errorf("it was changed from %v to %v", before, c)
	}
}

// testRolloutLastStep is "For a version of 1, the reconciler will perform the
// mutation steps", which "will force any remaining V0 IotConnector Crds to be
// upgraded". "The Deployment name field will be left blank."
func testRolloutLastStep(t *testing.T) {
	w := newWorld(t)
	old := []*iotv1alpha1.IotConnector{w.version0("a"), w.version0("b"), w.version0("c")}
	done := w.version1("done", entry("x", "Normalization"))
	unlabelled := w.version0("unlabelled")
	unlabelled.Labels = nil
	for _, c := range append(old, done, unlabelled) {
		w.Create(c)
	}
	w.ready(append(old, done, unlabelled)...)
	settled, left := done.ResourceVersion, unlabelled.ResourceVersion
	r := w.release("rollout", 1)
	w.Create(r)
	w.released(r, metav1.ConditionTrue, "UpToDate")
	if r.Status.Matched != 4 || r.Status.UpToDate != 4 || r.Status.Upgrading != 0 {
		t.Errorf("status %+v", r.Status)
	}
	w.ready(append(old, done, unlabelled)...)
	for _, c := range old {
		if c.Generation != 2 || c.Spec.Deployments[0].Name != "" {
			t.Errorf("%s is at generation %d: %v", c.Name, c.Generation, c.Spec)
		}
		w.consists(c, c.Name+"-fhirconverter", c.Name+"-normalization")
	}
	if done.ResourceVersion != settled || unlabelled.ResourceVersion != left {
		t.Error("one that was up to date, or is none of the release's, was written")
	}
}

// testReleaseImages: a release of an image touches each connector exactly once.
func testReleaseImages(t *testing.T) {
	w := newWorld(t)
	var all []*iotv1alpha1.IotConnector
	for i := range 5 {
		all = append(all, w.version1(fmt.Sprintf("c%d", i), entry("", "Normalization"), entry("", "FhirTransformation")))
		w.Create(all[i])
	}
	w.ready(all...)
	r := w.release("images", 1)
	r.Spec.Images = map[string]string{"FhirConverter": "example.com/fhir:2"}
	r.Spec.Strategy.MaxUnavailable = new(intstr.FromString("40%"))
	w.Create(r)
	w.released(r, metav1.ConditionTrue, "UpToDate")
	w.ready(all...)
	for _, c := range all {
		d := c.Spec.Deployments
		if c.Generation != 2 || d[0].Containers[0].Image != "example.com/normalization:1" ||
			d[1].Containers[0].Image != "example.com/fhir:2" {
			t.Errorf("%s is at generation %d: %v", c.Name, c.Generation, d)
		}
	}
}

// testReleaseStops: a release stops after maxFailures failures and names them.
func testReleaseStops(t *testing.T) {
	w := newWorld(t)
	bad := w.version0("bad")
	bad.Spec.Containers[0].Name = "bad" // Which version 1 can't have.
	w.Create(bad)
	good := w.version0("good")
	w.Create(good)
	w.ready(bad, good)
	r := w.release("rollout", 1)
	w.Create(r)
	message := w.released(r, metav1.ConditionFalse, "TooManyFailures")
	if !strings.Contains(message, "IotConnector/bad") || len(r.Status.Failures) != 1 ||
		!strings.Contains(r.Status.Failures[0].Reason, "kept for version 0") {
		t.Errorf("message %q, status %+v", message, r.Status)
	}
	change(w, r, func(r *iotv1alpha1.IotConnectorRelease) { r.Spec.Strategy.MaxFailures = new(int32(2)) })
	testenv.Eventually(t, func() error {
		w.ready(good)
		if good.Spec.EffectiveVersion() != 1 {
			return fmt.Errorf("good is at version 0")
		}
		return nil
	})
}

// testReleaseSparesOthers: a connector that its author has broken stops no upgrade. A connector
// that is Stalled since its upgrade does.
func testReleaseSparesOthers(t *testing.T) {
	w := newWorld(t)
	w.Create(stranger(w.NS, "taken"))
	theirs, good := w.version1("theirs", entry("taken", "Normalization")), w.version0("good")
	w.Create(theirs, good)
	w.until(theirs, "Stalled", metav1.ConditionTrue, "NameTaken")
	w.ready(good)
	r := w.release("rollout", 1)
	w.Create(r)
	message := w.released(r, metav1.ConditionTrue, "UpToDate")
	if !strings.Contains(message, "1 stalled for a reason unrelated") || r.Status.Failed != 0 || r.Status.UpToDate != 1 {
		t.Errorf("message %q, status %+v", message, r.Status)
	}
	w.ready(good)
	w.consists(good, "good-fhirconverter", "good-normalization")

	w.Create(stranger(w.NS, "bad-normalization"))
	bad := w.version0("bad")
	w.Create(bad)
	message = w.released(r, metav1.ConditionFalse, "TooManyFailures")
	if !strings.Contains(message, "IotConnector/bad") || len(r.Status.Failures) != 1 {
		t.Errorf("message %q, status %+v", message, r.Status)
	}
}

// testReleaseRolledBack: a rollback marks the upgrade of a connector as failed. The release
// does not upgrade it again, and stops.
func testReleaseRolledBack(t *testing.T) {
	w := newWorld(t)
	c, later := w.version0("c"), w.version0("later")
	w.Create(c)
	w.ready(c)
	r := w.release("rollout", 1)
	w.Create(r)
	w.released(r, metav1.ConditionTrue, "UpToDate")
	w.ready(c)
	w.rollback(c)
	if message := w.released(r, metav1.ConditionFalse, "TooManyFailures"); !strings.Contains(message, "IotConnector/c") ||
		!strings.Contains(r.Status.Failures[0].Reason, "rolled back") {
		t.Errorf("message %q, status %+v", message, r.Status)
	}
	w.Create(later)
	w.ready(c, later)
	testenv.Eventually(t, func() error {
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil || r.Status.Matched != 2 {
			return fmt.Errorf("error %w, status %+v", err, r.Status)
		}
		return nil
	})
	w.ready(c, later)
	if c.Spec.EffectiveVersion() != 0 || later.Spec.EffectiveVersion() != 0 {
		t.Errorf("versions %d and %d, though it has failed", c.Spec.EffectiveVersion(), later.Spec.EffectiveVersion())
	}
	change(w, c, func(c *iotv1alpha1.IotConnector) { delete(c.Annotations, iotv1alpha1.AnnotationRelease) })
	w.released(r, metav1.ConditionTrue, "UpToDate")
	w.ready(c, later)
	if c.Spec.EffectiveVersion() != 1 || later.Spec.EffectiveVersion() != 1 {
		t.Errorf("versions %d and %d", c.Spec.EffectiveVersion(), later.Spec.EffectiveVersion())
	}
}

// testReleaseDenied: a connector whose upgrade a policy denies counts as failed, and the others
// are upgraded.
func testReleaseDenied(t *testing.T) {
	w := newWorld(t)
	frozen, good := w.version0("a-frozen"), w.version0("b-good")
	w.Create(frozen, good)
	w.ready(frozen, good)
	upgraded := func() error { // A spec that the API server itself would accept.
		try := frozen.DeepCopy()
		if _, err := iot.Upgrade(try, nil); err != nil {
			return err
		}
		return w.C.Patch(t.Context(), try, client.MergeFrom(frozen), client.DryRunAll)
	}
	allow := testenv.Refuse(t, w.NS, iotv1alpha1.GroupVersion.WithResource("iotconnectors"),
		"object.metadata.name != 'a-frozen' || object.spec.?version.orValue(0) == 0", "frozen until Monday")
	testenv.Eventually(t, func() error {
		if err := upgraded(); err == nil || !strings.Contains(err.Error(), "frozen until Monday") {
			return errors.Join(errors.New("the policy is not in force"), err)
		}
		return nil
	})
	r := w.release("rollout", 1)
	r.Spec.Strategy.MaxFailures = new(int32(2))
	w.Create(r)
	message := w.released(r, metav1.ConditionFalse, "TooManyFailures")
	if !strings.Contains(message, "1 of 2 could not be upgraded") || len(r.Status.Failures) != 1 ||
		r.Status.Failures[0].Name != frozen.Name || !strings.Contains(r.Status.Failures[0].Reason, "frozen until Monday") ||
		r.Status.UpToDate != 1 || r.Status.Upgrading != 0 {
		t.Errorf("message %q, status %+v", message, r.Status)
	}
	w.ready(good)
	if good.Spec.EffectiveVersion() != 1 {
		t.Error("the other one was not upgraded")
	}
	allow()
	testenv.Eventually(t, upgraded)
	change(w, r, func(r *iotv1alpha1.IotConnectorRelease) { r.Spec.Strategy.MaxFailures = new(int32(3)) })
	w.released(r, metav1.ConditionTrue, "UpToDate")
}

// testReleasePaused: a paused release begins no more upgrades, and continues when it is
// resumed.
func testReleasePaused(t *testing.T) {
	w := newWorld(t)
	c := w.version0("c")
	w.Create(c)
	w.ready(c)
	r := w.release("rollout", 1)
	r.Spec.Strategy.Paused = true
	w.Create(r)
	if message := w.released(r, metav1.ConditionFalse, "Paused"); !strings.Contains(message, "1 to go") {
		t.Errorf("message %q", message)
	}
	change(w, r, func(r *iotv1alpha1.IotConnectorRelease) { r.Spec.Strategy.Paused = false })
	w.released(r, metav1.ConditionTrue, "UpToDate")
}

// testReleaseMaxUnavailable: while one connector does not become Ready, the next connector
// waits.
func testReleaseMaxUnavailable(t *testing.T) {
	w := newWorld(t)
	first, second := w.version0("a-first"), w.version0("b-second")
	for _, c := range []*iotv1alpha1.IotConnector{first, second} {
		w.Create(c)
	}
	w.ready(first, second)
	none := w.noPods()
	r := w.release("rollout", 1)
	w.Create(r)
	testenv.Eventually(t, func() error {
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
			return err
		}
		if r.Status.Upgrading != 1 || r.Status.UpToDate != 0 {
			return fmt.Errorf("%+v", r.Status)
		}
		return nil
	})
	w.Delete(none)
	w.released(r, metav1.ConditionTrue, "UpToDate")
}

// noPods prevents new Pods in the namespace, until the returned object is deleted.
func (w *world) noPods() *corev1.ResourceQuota {
	w.T.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{"pods": quantity("0")}
	w.Create(quota)
	testenv.Eventually(w.T, func() error { // It is effective after kube-controller-manager has counted.
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, GenerateName: "try-"}}
		pod.Spec.Containers = []corev1.Container{{Name: "try", Image: "try"}}
		if err := w.C.Create(w.T.Context(), pod, client.DryRunAll); !isOverQuota(err) {
			return fmt.Errorf("a Pod is not refused by the quota yet: %w", err)
		}
		return nil
	})
	return quota
}

// isOverQuota reports whether a ResourceQuota refused a Pod. Before the quota is counted, and while a
// namespace has no ServiceAccount, Pods are refused for other reasons.
func isOverQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// testTwoReleases: if two releases match one connector, the older release acts and the newer
// release has the reason Contested.
func testTwoReleases(t *testing.T) {
	w := newWorld(t)
	c := w.version0("c")
	w.Create(c)
	w.ready(c)
	older, newer := w.release("a-older", 0), w.release("b-newer", 1)
	w.Create(older)
	w.released(older, metav1.ConditionTrue, "UpToDate")
	w.Create(newer)
	message := w.released(newer, metav1.ConditionFalse, "Contested")
	want := "IotConnector/c also matches the older IotConnectorRelease/a-older, which acts: " +
		"IotConnectorRelease/b-newer leaves it alone"
	if message != want {
		t.Errorf("message %q", message)
	}
	w.Delete(older)
	w.released(newer, metav1.ConditionTrue, "UpToDate")
	w.ready(c)
	w.consists(c, "c-fhirconverter", "c-normalization")
}
