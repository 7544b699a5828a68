package iot_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testNoGapImage: while Pods are replaced by Pods of another image, the number of Ready Pods
// never falls. If a user, or a former operator, sets another strategy, the operator corrects
// it, and no Pod is replaced for that.
func testNoGapImage(t *testing.T) {
	w := newWorld(t)
	large := entry("a", "Normalization")
	large.Replicas = new(int32(4))
	c := w.version1("c", large)
	w.Create(c)
	w.ready(c)
	before := w.pods("a")
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Spec.Strategy = appsv1.DeploymentStrategy{} })
	testenv.Eventually(t, func() error {
		rolling := w.deployment("a").Spec.Strategy.RollingUpdate
		if rolling.MaxUnavailable.String() != "0" || rolling.MaxSurge.String() != "25%" {
			return fmt.Errorf("strategy %v", rolling)
		}
		return nil
	})
	w.ready(c)
	if after := w.pods("a"); !slices.Equal(before, after) {
		t.Errorf("Pods %v, before %v", after, before)
	}
	least := w.watchPods()
	change(w, c, func(c *iotv1alpha1.IotConnector) { c.Spec.Deployments[0].Containers[0].Image = "example.com/new:2" })
	w.ready(c)
	if n := least(); n < 4 {
		t.Errorf("at one moment there were %d Ready Pods, and 4 before", n)
	}
}
