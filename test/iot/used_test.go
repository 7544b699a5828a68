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
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestUsed: a Deployment with a Usage is not deleted, whether the connector or only the entry
// is deleted. The connector names the Usage, and continues as soon as the Usage is deleted.
func TestUsed(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Packs = []string{"iot", "usage"} })
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"), entry("b", "FhirConverter"))
	w.Create(c)
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
	w.Delete(c)
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
	w.T.Helper()
	usage := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "keep-" + deployment}}
	usage.Spec.Reason = new("patients depend on it")
	usage.Spec.Of = sharedv1alpha1.Resource{
		APIVersion: "apps/v1", Kind: "Deployment", ResourceRef: &sharedv1alpha1.ResourceRef{Name: deployment},
	}
	w.Create(usage)
	w.T.Cleanup(func() {
		if err := client.IgnoreNotFound(w.C.Delete(context.WithoutCancel(w.T.Context()), usage)); err != nil {
			w.T.Error(err)
		}
	})
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(usage), usage); err != nil {
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
	w.T.Helper()
	message := w.until(c, "Ready", metav1.ConditionFalse, "DeletionRefused")
	if !strings.Contains(message, "patients depend on it") || !strings.Contains(message, "Usage keep-") {
		w.T.Errorf("message %q", message)
	}
}

// promptly deletes a Usage and expects something well before the operator would try again
// by itself.
func (w *world) promptly(usage *protectionv1beta1.Usage, f func() error) {
	w.T.Helper()
	begin := time.Now()
	w.Delete(usage)
	testenv.EventuallyWithin(w.T, 20*time.Second, f)
	w.T.Logf("after %s", time.Since(begin).Round(time.Millisecond))
}
