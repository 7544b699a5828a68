package oam

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/davecgh/go-spew/spew"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
)

// noDefinition stands for the definition in traitName if the trait has no TraitDefinition.
const noDefinition = "dummy"

// definitionName returns the name of the WorkloadDefinition or TraitDefinition of an object.
func definitionName(obj *unstructured.Unstructured, label, plural string) string {
	return oam.DefinitionName(obj, label, schema.GroupResource{Group: obj.GroupVersionKind().Group, Resource: plural})
}

// earlier is an entry of status.workloads: the workload and the traits of a component.
type earlier = oamv1alpha2.WorkloadStatus

// workloadName returns the name of a component's workload without metadata.name.
//
// With a trait whose definition has spec.revisionEnabled, each revision has a workload of the
// revision's name. A workload that the application has for this revision already keeps its name, so
// that a later revisionEnabled trait does not create the workload again.
func workloadName(component, revision string, revisionEnabled bool, before *earlier) string {
	switch {
	case !revisionEnabled:
		return component
	case before != nil && before.ComponentRevisionName == revision && before.Reference.Name != "":
		return before.Reference.Name
	default:
		return revision
	}
}

// traitName returns the name of a trait without metadata.name: the name in status.workloads of a
// trait of the same kind, or else COMPONENT-TYPE-HASH. The parameter taken has the names that other
// traits of the component have got.
func traitName(
	component, definition string, trait *oamv1alpha2.ComponentTrait, obj *unstructured.Unstructured,
	before *earlier, taken map[string]bool,
) string {
	if before != nil {
		for _, t := range before.Traits {
			ref := t.Reference
			if ref.APIVersion == obj.GetAPIVersion() && ref.Kind == obj.GetKind() && !taken[ref.Name] {
				return ref.Name
			}
		}
	}
	short, _, _ := strings.Cut(definition, ".")
	name := component
	if short = strings.ToLower(short); short != "" {
		name += "-" + short
	} else {
		name += "-trait"
	}
	return name + "-" + traitHash(trait)
}

// printer writes values as the published OAM runtime does before it computes a hash.
var printer = spew.ConfigState{Indent: " ", SortKeys: true, DisableMethods: true, SpewKeys: true}

// traitHash returns the hash in the name of a trait, computed as in the published OAM runtime: an
// ApplicationConfiguration that moves to this operator keeps its traits.
func traitHash(trait *oamv1alpha2.ComponentTrait) string {
	hash := fnv.New32a()
	_, _ = printer.Fprintf(hash, "%#v", *trait)
	return rand.SafeEncodeString(fmt.Sprint(hash.Sum32()))
}
