package azuremove

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Importer writes unmanaged objects for resources that exist in Azure.
type Importer struct {
	Kinds *catalogue.Catalogue
	Cloud *azure.Client
	// Types are patterns of the types to import of a resource group's resources. Without Types, a group
	// is imported alone: a list for each type of Azure would take thousands of requests.
	Types []string
	// KeepUnknown keeps in spec.raw the values of a body that the schema does not know.
	KeepUnknown bool
	// Write is called for each object, for an owner before its children.
	Write func(*unstructured.Unstructured) error
	// Tell is called with each message about what was left out.
	Tell func(format string, arguments ...any)
}

// Import writes the object of a resource, and those of its children. An error of the cloud in the list of
// one type is told, and the other types are imported.
func (i Importer) Import(ctx context.Context, id azure.ID) error {
	k := i.Kinds.Default(id.Type())
	if k == nil {
		return fmt.Errorf("the catalogue has no type %s", id.Type())
	}
	answer, err := i.Cloud.Get(ctx, id, k.APIVersion)
	if err != nil {
		return err
	}
	return importing{i, map[string]bool{}}.tree(ctx, k, id, answer.Body, nil)
}

// importing is one Import.
type importing struct {
	Importer

	taken map[string]bool // kinds with the names of written objects
}

// rename gives an object a name that no object of the kind has yet. Two networks may each have a subnet default: the
// second subnet gets the name of its network, and spec.azureName.
func (i importing) rename(obj, owner *unstructured.Unstructured, id azure.ID) {
	const longest = 253
	name := obj.GetName()
	key := func() string { return obj.GroupVersionKind().GroupKind().String() + "/" + obj.GetName() }
	if i.taken[key()] && owner != nil {
		name = owner.GetName() + "-" + name
		obj.SetName(strings.TrimRight(name[:min(len(name), longest)], "-."))
	}
	for n := 2; i.taken[key()]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		obj.SetName(name[:min(len(name), longest-len(suffix))] + suffix)
	}
	i.taken[key()] = true
	if spec, _ := obj.Object["spec"].(map[string]any); obj.GetName() != id.Name() {
		spec[catalogue.AzureNameField] = id.Name()
	}
}

// tree writes a resource and its children.
func (i importing) tree(
	ctx context.Context, k *catalogue.Kind, id azure.ID, body map[string]any, owner *unstructured.Unstructured,
) error {
	obj, left, err := Import(k, id, body, i.KeepUnknown)
	if err != nil {
		return err
	}
	i.rename(obj, owner, id)
	if owner != nil {
		own(obj, owner)
	}
	if len(left) > 0 {
		i.Tell("%s: left out %s", id, strings.Join(left, ", "))
	}
	if err := i.Write(obj); err != nil {
		return err
	}
	children, err := i.children(k)
	if err != nil {
		return err
	}
	for _, child := range children {
		items, err := i.Cloud.List(ctx, id, child.Type, child.APIVersion)
		if err != nil {
			i.Tell("%s: %s are left out: %v", id, child.Type, err)
			continue
		}
		for _, item := range items {
			text, _ := item["id"].(string)
			childID, err := azure.ParseID(text)
			if err != nil {
				return fmt.Errorf("read the list of %s: %w", child.Type, err)
			}
			if err := i.tree(ctx, child, childID, item, obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// children returns the kinds whose resources may be in those of a kind. For a resource group these are
// the types of Types.
func (i Importer) children(k *catalogue.Kind) (children []*catalogue.Kind, err error) {
	if k.Type != catalogue.ResourceGroupType {
		for _, child := range i.Kinds.Kinds() {
			if i.Kinds.Default(child.Type) == child && strings.EqualFold(child.Owner, k.Type) {
				children = append(children, child)
			}
		}
		return children, nil
	}
	for _, pattern := range i.Types {
		found, err := i.Kinds.Match(pattern)
		if err != nil {
			return nil, err
		}
		for _, child := range found {
			if strings.EqualFold(child.Owner, k.Type) && !slices.Contains(children, child) {
				children = append(children, child)
			}
		}
	}
	return children, nil
}
