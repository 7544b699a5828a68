package story

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/examples"
)

// azureProps are the objects of the story about Azure, from the examples.
type azureProps struct{ stack, group []*unstructured.Unstructured }

func newAzureProps() (azureProps, error) {
	var p azureProps
	for name, part := range map[string]*[]*unstructured.Unstructured{"stack": &p.stack, "group": &p.group} {
		objects, err := Read(examples.Azure, "azure/"+name+".yaml")
		if err != nil {
			return p, err
		}
		for _, object := range objects {
			object.SetNamespace(namespace)
		}
		if err := rename(objects); err != nil {
			return p, err
		}
		*part = objects
	}
	return p, nil
}

// rename gives resource groups other names in Azure than in the examples: the user may apply these beside what
// LeaveAzure has left.
func rename(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if _, owned, _ := unstructured.NestedMap(object.Object, "spec", catalogue.OwnerField); owned {
			continue
		}
		name := "story-" + object.GetName()
		if err := unstructured.SetNestedField(object.Object, name, "spec", catalogue.AzureNameField); err != nil {
			return fmt.Errorf("rename %s: %w", ID(object), err)
		}
	}
	return nil
}

// all returns all objects of the story.
func (p azureProps) all() []*unstructured.Unstructured { return slices.Concat(p.stack, p.group) }

// one returns the only object of a kind in azureProps.stack.
func (p azureProps) one(kind string) *unstructured.Unstructured {
	i := slices.IndexFunc(p.stack, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	return p.stack[i]
}

// DefineAzure deletes the objects of an earlier run of `kinship up --once`: their emulator of Azure
// ended with that run. Otherwise the operator would first create the resources of these objects in
// the new emulator.
func DefineAzure(ctx context.Context, stage *Stage) error {
	p, err := newAzureProps()
	if err != nil {
		return err
	}
	for _, object := range p.all() {
		if err := stage.patch(ctx, object, `{"spec":{"managedOptions":{"onDelete":"detach"}}}`); err != nil {
			return err
		}
		if err := stage.remove(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// Azure returns the story about Azure.
func Azure() ([]Story, error) {
	p, err := newAzureProps()
	if err != nil {
		return nil, err
	}
	return []Story{p.ownersAndReferences()}, nil
}

// LeaveAzure applies the example once more, for people to look around.
func LeaveAzure(ctx context.Context, s *Stage) error {
	p, err := newAzureProps()
	if err != nil {
		return err
	}
	if err := s.apply(ctx, p.all()...); err != nil {
		return err
	}
	return s.allAvailable(ctx, p.all())
}

// ownersAndReferences is seed 1, on owners and typed references.
func (p azureProps) ownersAndReferences() Story {
	subnet, machines := p.one("VirtualNetworksSubnet"), p.one("VirtualMachineScaleSet")
	return Story{
		Title: "Azure resources are applied in the wrong order. Their resource group takes them along.",
		Cast:  p.all(),
		Steps: []Step{
			{
				"apply the stack, dependents first: each says for which owner and references it waits",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.apply(ctx, copies(p.stack)...); err != nil {
						return "", err
					}
					return s.says(ctx, machines, "ResourceGroup/shop", "VirtualNetworksSubnet/front", "LoadBalancer/entrance")
				},
			},
			{
				"apply the resource group: all are Ready",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.apply(ctx, copies(p.group)...); err != nil {
						return "", err
					}
					return "", s.allAvailable(ctx, p.all())
				},
			},
			{
				"delete " + ID(subnet) + ": it stays, and says who needs it",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.deleteObject(ctx, subnet); err != nil {
						return "", err
					}
					return s.says(ctx, subnet, "it holds finalizer azure.kinship.dev/in-use")
				},
			},
			{
				"delete the resource group: everything in it goes along, with one request",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.deleteObject(ctx, p.group[0]); err != nil {
						return "", err
					}
					return "", s.allGone(ctx, p.all())
				},
			},
		},
	}
}
