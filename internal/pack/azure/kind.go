package azure

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Input is an object of the pack with its resolved references.
type Input = external.Input[*external.Unstructured]

// entry is a kind of the catalogue.
type entry = catalogue.Kind

// kind is a kind of the catalogue that the API server serves.
type kind struct {
	*entry

	all        *catalogue.Catalogue
	definition *catalogue.Definition
	connector  *connector
}

func (p *provider) newKind(of *catalogue.Kind) (*kind, error) {
	definition, err := of.Definition()
	if err != nil {
		return nil, err
	}
	return &kind{entry: of, all: p.kinds, definition: definition, connector: p.connector}, nil
}

// external returns the external.Kind that external.Engine needs.
func (k *kind) external() external.Kind[*external.Unstructured, *resource] {
	gvk := k.GroupVersionKind()
	return external.Kind[*external.Unstructured, *resource]{
		GVK: gvk, New: func() *external.Unstructured { return external.NewUnstructured(gvk) },
		Relations: k.relations(), Connect: k.connect, Identify: identify, Name: nameOf,
		Key: strings.ToLower,
		Address: func(in Input) string {
			id, err := k.address(k.setting(in))
			if err != nil {
				return ""
			}
			return id.String()
		},
		Serial: k.serial, Differs: k.differs, Observe: k.observe, Leaving: isLeaving, Cascades: true, Within: isWithin,
	}
}

// isWithin reports whether a resource is in another resource, such as a VirtualNetwork in its
// ResourceGroup.
func isWithin(id, other string) bool {
	inner, err := azure.ParseID(id)
	outer, failed := azure.ParseID(other)
	return err == nil && failed == nil && inner.Within(outer)
}

// connect returns the external.Access for the requests of an object.
func (k *kind) connect(
	ctx context.Context, in Input,
) (external.Access[*external.Unstructured, *resource], error) {
	connection, err := k.connector.connect(ctx, in)
	if err != nil {
		return external.Access[*external.Unstructured, *resource]{}, err
	}
	access := external.Access[*external.Unstructured, *resource]{
		Actuator: actuator{k, connection.client}, Scope: connection.subscription + "/" + k.Type,
	}
	if parent, err := k.parent(k.setting(in)); err == nil {
		access.Place = parent.String()
	} else if in.Object.GetExternalStatus().ID == nil && in.Object.GetDeletionTimestamp() == nil {
		return access, &external.Error{Class: external.Invalid, Message: err.Error()}
	}
	if in.Object.GetDeletionTimestamp() != nil {
		return access, nil
	}
	if err := k.checkAddress(in); err != nil {
		return access, &external.Error{Class: external.Invalid, Message: err.Error()}
	}
	return access, k.checkReferences(k.setting(in))
}

// checkAddress returns an error if the spec of an object without a resource gives no ARM id.
func (k *kind) checkAddress(in Input) error {
	if in.Object.GetExternalStatus().ID != nil {
		return nil
	}
	id, _ := in.Object.GetImport()
	if id == "" {
		_, err := k.address(k.setting(in))
		return err
	}
	if _, err := (actuator{kind: k}).parse(id); err != nil {
		return fmt.Errorf("spec.import.id: %w", err)
	}
	return nil
}

// serial returns the ARM id of the parent of an object's resource if ARM changes only one child of
// the parent at a time (azure.IsExclusive), or "".
func (k *kind) serial(in Input) string {
	if !azure.IsExclusive(k.Type) {
		return ""
	}
	id, err := k.idOf(in)
	if err != nil {
		return ""
	}
	return strings.ToLower(id.Parent().String())
}

// idOf returns the ARM id of an object's resource, which may not exist yet.
func (k *kind) idOf(in Input) (azure.ID, error) {
	if known := in.Object.GetExternalStatus().ID; known != nil {
		return azure.ParseID(*known)
	}
	return k.address(k.setting(in))
}

// nameOf returns the name of an object's resource: spec.azureName or metadata.name.
func nameOf(obj *external.Unstructured) string {
	if name, _, _ := unstructured.NestedString(obj.Object, "spec", catalogue.AzureNameField); name != "" {
		return name
	}
	return obj.GetName()
}

// specOf returns the spec of an object without a copy.
func specOf(obj *external.Unstructured) map[string]any {
	spec, _ := obj.Object["spec"].(map[string]any)
	return spec
}
