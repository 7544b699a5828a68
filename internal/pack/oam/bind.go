package oam

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// bindTrait writes the reference to the workload into a trait, at workloadRefPath of the trait's
// definition. A definition without the path takes no part in the mechanism: the trait stays as it is
// (seed 5, proposal 2).
func bindTrait(
	trait *unstructured.Unstructured, definition *oamv1alpha2.TraitDefinition, to *unstructured.Unstructured,
	budget *relation.Budget,
) error {
	if definition == nil || definition.Spec.WorkloadRefPath == "" {
		return nil
	}
	field := fmt.Sprintf("spec.workloadRefPath of TraitDefinition/%s", definition.Name)
	content, err := dataflow.Set(trait.Object, field, definition.Spec.WorkloadRefPath, map[string]any{
		"apiVersion": to.GetAPIVersion(), "kind": to.GetKind(), "name": to.GetName(),
	}, budget)
	if err != nil {
		return err
	}
	trait.Object = content
	return nil
}
