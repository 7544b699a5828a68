package oam_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// testDefinitionLater: traits and scopes follow the definition of their workload, also one that is
// written after them.
func testDefinitionLater(t *testing.T) {
	w := newWorld(t)
	workload, definition := w.parent()
	w.deployment(workload, "child", "")
	w.scaler("scaler", 2, "Bar", "parent")
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: health}
spec: {workloadRefs: [{apiVersion: example.com/v1, kind: Bar, name: parent}]}`)
	w.get("ManualScalerTrait", "scaler", synced("cannot scale the resource"))
	w.get("HealthScope", "health", field("UNHEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.definition(definition, "")
	w.get("Deployment", "child", field(2, "spec", "replicas"))
	w.get("ManualScalerTrait", "scaler", synced(""))
	w.get("HealthScope", "health", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.definition(definition, ", selector: {tier: none}")
	w.get("ManualScalerTrait", "scaler", synced("cannot scale the resource"))
	w.get("HealthScope", "health", field("UNHEALTHY", "status", "scopeHealthCondition", "healthStatus"))
}

// testRelabelled: a child whose labels change is chosen, or is chosen no longer.
func testRelabelled(t *testing.T) {
	w := newWorld(t)
	workload, definition := w.parent()
	w.definition(definition, ", selector: {tier: web}")
	w.deployment(workload, "chosen", "tier: web, core.oam.dev/expose: 'true'")
	w.deployment(workload, "hidden", "tier: web")
	w.deployment(workload, "exposed", "core.oam.dev/expose: 'true'")
	w.scaler("scaler", 3, "Bar", "parent")
	w.get("Deployment", "chosen", field(3, "spec", "replicas"))
	w.get("ManualScalerTrait", "scaler", synced(""))
	w.get("Deployment", "hidden", field(1, "spec", "replicas"))
	w.get("Deployment", "exposed", field(1, "spec", "replicas"))
	w.change("Deployment", "hidden", "true", "metadata", "labels", "core.oam.dev/expose")
	w.get("Deployment", "hidden", field(3, "spec", "replicas"))
	w.change("Deployment", "exposed", "web", "metadata", "labels", "tier")
	w.get("Deployment", "exposed", field(3, "spec", "replicas"))
}

// testStripped: a workload and a child that lose their ownerReference get it back.
func testStripped(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.get("ApplicationConfiguration", "app", synced(""))
	w.get("ContainerizedWorkload", "example", synced(""))
	for kind, owner := range map[string]string{
		"Deployment": "ContainerizedWorkload", "ContainerizedWorkload": "ApplicationConfiguration",
		"ManualScalerTrait": "ApplicationConfiguration",
	} {
		name := "example"
		if kind == "ManualScalerTrait" {
			name = "scaler"
		}
		stripped := w.blank(kind, name)
		w.Update(stripped, func() { stripped.SetOwnerReferences(nil) })
		w.get(kind, name, func(u *unstructured.Unstructured) error {
			owners := u.GetOwnerReferences()
			if len(owners) != 1 || owners[0].Kind != owner {
				return fmt.Errorf("owners of %s are %v, want a %s", kind, owners, owner)
			}
			return nil
		})
	}
}

// testTraitGone: a trait that yields to another one scales the object when the other one is gone.
func testTraitGone(t *testing.T) {
	w := newWorld(t)
	workload, definition := w.parent()
	w.definition(definition, "")
	w.deployment(workload, "child", "")
	w.scaler("first", 2, "Bar", "parent")
	w.get("Deployment", "child", field(2, "spec", "replicas"))
	w.scaler("second", 4, "Deployment", "child")
	w.get("ManualScalerTrait", "second", synced("Deployment/child is scaled by ManualScalerTrait/first already"))
	w.Delete(w.blank("ManualScalerTrait", "first"))
	w.get("Deployment", "child", field(4, "spec", "replicas"))
	w.get("ManualScalerTrait", "second", synced(""))
}

// testScopeLater: a scope of any kind that is created later wakes the applications that name it.
func testScopeLater(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ScopeDefinition
metadata: {name: bars.example.com}
spec:
  allowComponentOverlap: true
  definitionRef: {name: bars.example.com}
  workloadRefsPath: spec.refs`)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db") + `
      scopes: [{scopeRef: {apiVersion: example.com/v1, kind: Bar, name: late}}]`)
	w.get("ApplicationConfiguration", "app", synced("waiting for scope Bar/late to be created"))
	w.write(`
apiVersion: example.com/v1
kind: Bar
metadata: {name: late}
spec: {tier: web}`)
	w.get("Bar", "late", func(u *unstructured.Unstructured) error {
		refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "refs")
		if len(refs) != 1 || refs[0].(map[string]any)["name"] != "db" {
			return fmt.Errorf("spec.refs is %v", refs)
		}
		return nil
	})
	w.get("ApplicationConfiguration", "app", synced(""))
}

// testKindLater: an application whose workload is of a kind that is not installed is woken when the kind is
// installed.
func testKindLater(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: late}
spec:
  workload: {apiVersion: late.example.com/v1, kind: Late, spec: {key: 1}}`)
	w.write(application("app", "componentName: late"))
	w.get("ApplicationConfiguration", "app", synced("the API server serves no late.example.com/v1, Kind=Late"))
	w.write(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lates.late.example.com}
spec:
  group: late.example.com
  names: {kind: Late, listKind: LateList, plural: lates, singular: late}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}`)
	w.get("ApplicationConfiguration", "app", synced("lates.late.example.com"))
}
