package iot_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestUsed: a Deployment with a Usage is not deleted, whether the connector or only the entry
// is deleted. The connector names the Usage, and continues as soon as the Usage is deleted.
func TestUsed(t *testing.T) {
	operator.Start(t, func(o *app.Options) { o.Packs = []string{"iot", "usage"} })
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	w.create(c)
	w.ready(c)

	t.Log("the entry is taken out")
	usage := w.protect("a")
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments = c.Spec.Deployments[1:] })
	w.saysWhoKeeps(c)
	w.consists(c, "a", "b")
	w.promptly(usage, func() error {
		if left := w.deployments(c); len(left) != 1 {
			return fmt.Errorf("Deployments %v", left)
		}
		return nil
	})
	w.ready(c)

	t.Log("the connector is deleted")
	usage = w.protect("b")
	w.delete(c)
	w.saysWhoKeeps(c)
	if d := w.deployment("b"); d.DeletionTimestamp != nil {
		t.Error("what is in use is being deleted")
	}
	w.promptly(usage, func() error {
		if left := len(w.all()); left > 0 {
			return fmt.Errorf("%d IotConnectors are left", left)
		}
		return nil
	})
}

// protect creates a Usage of a Deployment and waits until the Usage is Ready.
func (w *world) protect(deployment string) *protectionv1beta1.Usage {
	w.t.Helper()
	usage := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "keep-" + deployment}}
	usage.Spec.Reason = new("patients depend on it")
	usage.Spec.Of = sharedv1alpha1.Resource{
		APIVersion: "apps/v1", Kind: "Deployment", ResourceRef: &sharedv1alpha1.ResourceRef{Name: deployment},
	}
	w.create(usage)
	w.t.Cleanup(func() {
		if err := client.IgnoreNotFound(w.c.Delete(context.WithoutCancel(w.t.Context()), usage)); err != nil {
			w.t.Error(err)
		}
	})
	testenv.Eventually(w.t, func() error {
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(usage), usage); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(usage.Status.Conditions, "Ready") {
			return fmt.Errorf("%+v", usage.Status)
		}
		return nil
	})
	return usage
}

// saysWhoKeeps waits until the condition Ready of a connector names the Usage and its reason.
func (w *world) saysWhoKeeps(c *iotv1alpha1.IotConnector) {
	w.t.Helper()
	message := w.until(c, "Ready", metav1.ConditionFalse, "DeletionRefused")
	if !strings.Contains(message, "patients depend on it") || !strings.Contains(message, "Usage keep-") {
		w.t.Errorf("message %q", message)
	}
}

// promptly deletes a Usage and expects something well before the operator would try again
// by itself.
func (w *world) promptly(usage *protectionv1beta1.Usage, f func() error) {
	w.t.Helper()
	begin := time.Now()
	w.delete(usage)
	testenv.EventuallyWithin(w.t, 20*time.Second, f)
	w.t.Logf("after %s", time.Since(begin).Round(time.Millisecond))
}
