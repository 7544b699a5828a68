package oam

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
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
	path, err := writablePath(field, definition.Spec.WorkloadRefPath)
	if err != nil {
		return err
	}
	content, err := path.SetWithin(trait.Object, map[string]any{
		"apiVersion": to.GetAPIVersion(), "kind": to.GetKind(), "name": to.GetName(),
	}, budget)
	if err != nil {
		return wrong(field, "%s", err)
	}
	trait.Object = content
	return nil
}
