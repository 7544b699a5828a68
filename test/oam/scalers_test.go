package oam_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// parent writes a workload whose definition has a name that no other test uses, and does not exist yet.
func (w *world) parent() (workload *unstructured.Unstructured, definition string) {
	w.T.Helper()
	definition = "late-" + w.NS
	w.write(`
apiVersion: example.com/v1
kind: Bar
metadata: {name: parent, labels: {workload.oam.dev/type: ` + definition + `}}`)
	return w.get("Bar", "parent", nil), definition
}

// deployment writes a Deployment that an object controls.
func (w *world) deployment(owner *unstructured.Unstructured, name, labels string) {
	w.T.Helper()
	w.write(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  labels: {%[2]s}
  ownerReferences: [{apiVersion: %[3]s, kind: %[4]s, name: %[5]s, uid: %[6]s, controller: true}]
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: a, image: a}]}`,
		name, labels, owner.GetAPIVersion(), owner.GetKind(), owner.GetName(), owner.GetUID()))
}

// definition writes a WorkloadDefinition with Deployments as children.
func (w *world) definition(name, child string) {
	w.T.Helper()
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: WorkloadDefinition
metadata: {name: ` + name + `}
spec:
  definitionRef: {name: bars.example.com}
  childResourceKinds: [{apiVersion: apps/v1, kind: Deployment` + child + `}]`)
}

// scaler writes a trait without an application.
func (w *world) scaler(name string, count int, kind, target string) {
	w.T.Helper()
	version := w.blank(kind, target).GetAPIVersion()
	w.write(fmt.Sprintf(`
apiVersion: core.oam.dev/v1alpha2
kind: ManualScalerTrait
metadata: {name: %s}
spec: {replicaCount: %d, workloadRef: {apiVersion: %s, kind: %s, name: %s}}`, name, count, version, kind, target))
}

// testScalerYields: spec.replicas that another client sets is restored once. Then the trait yields to that
// client, until the spec of the trait changes. What the trait found at first counts as nobody's.
func testScalerYields(t *testing.T) {
	w := newWorld(t)
	workload, definition := w.parent()
	w.definition(definition, "")
	w.deployment(workload, "child", "")
	set := func(count int64) {
		t.Helper()
		d := w.blank("Deployment", "child")
		testenv.Eventually(t, func() error {
			if err := w.Read(d); err != nil {
				return err
			}
			d.Object["spec"].(map[string]any)["replicas"] = count
			return w.C.Update(t.Context(), d, client.FieldOwner("autoscaler"))
		})
	}
	set(7)
	w.scaler("scaler", 3, "Bar", "parent")
	w.get("Deployment", "child", field(3, "spec", "replicas"))
	w.get("ManualScalerTrait", "scaler", synced(""))
	w.scaler("other", 3, "Bar", "none")
	set(8)
	w.get("Deployment", "child", field(3, "spec", "replicas"))
	w.Delete(w.blank("ManualScalerTrait", "other"))
	w.gone("ManualScalerTrait", "other")
	set(9)
	w.get("ManualScalerTrait", "scaler", synced("field manager autoscaler sets spec.replicas of Deployment/child again"))
	w.get("ManualScalerTrait", "scaler", synced("the trait yields until its spec changes"))
	w.get("Deployment", "child", field(9, "spec", "replicas"))
	w.scaler("scaler", 4, "Bar", "parent")
	w.get("Deployment", "child", field(4, "spec", "replicas"))
	w.get("ManualScalerTrait", "scaler", synced(""))
}

// testLongTraits: traits whose names differ at their end alone are told apart.
func testLongTraits(t *testing.T) {
	w := newWorld(t)
	workload, definition := w.parent()
	w.definition(definition, "")
	w.deployment(workload, "child", "")
	long := strings.Repeat("a", 200)
	w.scaler(long+"-1", 2, "Bar", "parent")
	w.get("Deployment", "child", field(2, "spec", "replicas"))
	w.scaler(long+"-2", 4, "Bar", "parent")
	w.get("ManualScalerTrait", long+"-2", synced("is scaled by ManualScalerTrait/"+long+"-1 already"))
}

// TestImpossibleScale: a number of replicas that the API server refuses is told in the condition of the trait, and is no
// failure to try again.
func TestImpossibleScale(t *testing.T) {
	operator.Start(t, testKinds)
	define(t)
	w := newWorld(t)
	failures := func() float64 {
		return operator.Metrics(t, "controller_runtime_reconcile_errors_total", "controller")["core.oam.dev/manualscalertrait"]
	}
	before := failures() // Of earlier operators of this process.
	w.write(webComponent)
	w.write(strings.Replace(webApplication, "replicaCount: 3", "replicaCount: -1", 1))
	w.get("ManualScalerTrait", "scaler", synced("spec.replicas: Invalid value: -1"))
	if n := failures() - before; n > 0 {
		t.Errorf("%g passes failed", n)
	}
	w.write(webApplication)
	w.get("ManualScalerTrait", "scaler", synced(""))
	w.get("Deployment", "example", field(3, "spec", "replicas"))
}
