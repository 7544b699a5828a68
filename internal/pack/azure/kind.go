package azure

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Input is an object of the pack with its resolved references.
type Input = external.Input[*external.Unstructured]

// access is an actuator with its place.
type access = external.Access[*external.Unstructured, *resource]

// entry is a kind of the catalogue.
type entry = catalogue.Kind

// kind is a kind of the catalogue that the API server serves.
type kind struct {
	*entry

	all        *catalogue.Catalogue
	definition *catalogue.Definition
	connector  *connector
	submission Submission
}

func newKind(all *catalogue.Catalogue, of *catalogue.Kind) (*kind, error) {
	definition, err := of.Definition()
	if err != nil {
		return nil, err
	}
	return &kind{entry: of, all: all, definition: definition}, nil
}

// external returns the external.Kind that external.Engine needs.
func (k *kind) external() external.Kind[*external.Unstructured, *resource] {
	gvk := k.GroupVersionKind()
	return external.Kind[*external.Unstructured, *resource]{
		GVK: gvk, New: func() *external.Unstructured { return external.NewUnstructured(gvk) },
		Relations: k.relations(), Connect: k.connect, Identify: identify, Name: k.nameOf,
		Key: strings.ToLower,
		Address: func(in Input) string {
			id, err := k.desired(in).address()
			if err != nil {
				return ""
			}
			return id.String()
		},
		Differs: func(_ Input, r *resource) []string { return r.differs() },
		Serial:  k.serial, Observe: k.observe, Leaving: isLeaving, Cascades: true, Within: azure.IsWithin,
	}
}

// connect returns the actuator for the requests of an object.
func (k *kind) connect(ctx context.Context, in Input) (access, error) {
	connection, err := k.connector.connect(ctx, in)
	if err != nil {
		return access{}, err
	}
	d := k.desired(in)
	result := access{Actuator: actuator{d, connection.client}, Scope: connection.subscription + "/" + k.Type}
	isDeleted := in.Object.GetDeletionTimestamp() != nil
	if owner, err := d.ownerID(); err == nil {
		result.Place = owner.String()
	} else if in.Object.GetExternalStatus().ID == nil && !isDeleted {
		return result, invalid(err)
	}
	if isDeleted {
		return result, nil
	}
	if err := d.checkAddress(); err != nil {
		return result, invalid(err)
	}
	if d.versions, err = k.versionsOf(ctx, in); err != nil {
		return result, err
	}
	return result, d.checkReferences()
}

// serial returns the ARM id of the resource that ARM locks while ARM changes the resource of an object
// (azure.LockOf), or "".
func (k *kind) serial(in Input) string {
	id, err := k.desired(in).idOf()
	if err != nil {
		return ""
	}
	if lock, ok := azure.LockOf(id); ok {
		return strings.ToLower(lock.String())
	}
	return ""
}

// parse parses an ARM id, which must be of the kind's type.
func (k *kind) parse(text string) (azure.ID, error) {
	id, err := azure.ParseID(text)
	if err != nil {
		return azure.ID{}, invalid(err)
	}
	if !strings.EqualFold(id.Type(), k.Type) {
		return azure.ID{}, invalid(fmt.Errorf("%s is a %s, want a %s", id, id.Type(), k.Type))
	}
	return id, nil
}

// nameOf returns the name of an object's resource: spec.azureName or metadata.name. Where Azure wants a GUID, and
// metadata.name is none, nameOf returns metadata.uid.
func (k *kind) nameOf(obj *external.Unstructured) string {
	if name, _, _ := unstructured.NestedString(obj.Object, "spec", catalogue.AzureNameField); name != "" {
		return name
	}
	if uid := string(obj.GetUID()); k.GUIDName && uid != "" && uuid.Validate(obj.GetName()) != nil {
		return uid
	}
	return obj.GetName()
}

// specOf returns the spec of an object without a copy.
func specOf(obj *external.Unstructured) map[string]any {
	spec, _ := obj.Object["spec"].(map[string]any)
	return spec
}
