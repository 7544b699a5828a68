package azuremove

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Import returns an unmanaged object for an existing resource. The spec has the body of the resource without the values
// that Azure alone writes. With keepUnknown, spec.raw has the values that the schema does not know, and the rendered
// object gives the rest of the body back. Without keepUnknown, Import returns the places of the unknown values.
func Import(
	k *catalogue.Kind, id azure.ID, body map[string]any, keepUnknown bool,
) (obj *unstructured.Unstructured, left []string, err error) {
	if !strings.EqualFold(id.Type(), k.Type) {
		return nil, nil, fmt.Errorf("%s is a %s, want a %s", id, id.Type(), k.Type)
	}
	if told, err := azure.ParseID(textOf(body["id"])); err == nil && !told.Equal(id) {
		return nil, nil, fmt.Errorf("the body is of %s, want the body of %s", told, id)
	}
	definition, err := k.Definition()
	if err != nil {
		return nil, nil, err
	}
	spec, rest, err := k.FromARM(definition.Writable(body), catalogue.Conversion{
		Parent: id.Parent().String(), Name: id.Name(), Allows: mayRefer,
	})
	if err != nil {
		return nil, nil, err
	}
	if name, ok := body["name"].(string); ok && keepUnknown {
		rest = append(rest, catalogue.Rest{Path: catalogue.NamePath, Value: name})
	}
	if keepUnknown {
		catalogue.SetRest(spec, rest)
	} else {
		for _, one := range rest {
			left = append(left, one.Path)
		}
	}
	name := objectName(id.Name())
	if delete(spec, catalogue.AzureNameField); name != id.Name() {
		spec[catalogue.AzureNameField] = id.Name()
	}
	spec["managementPolicy"] = "unmanaged"
	spec["import"] = map[string]any{"id": id.String()}
	if parent := id.Parent(); !parent.IsTenant() {
		if owner, ok := catalogue.ReferenceTo(parent.String()); ok {
			spec[catalogue.OwnerField] = azureForm(parent, owner)
		}
	}
	obj = &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(k.GroupVersionKind())
	obj.SetName(name)
	return obj, left, nil
}

// textOf returns a text of a body, or "" for another value.
func textOf(value any) string {
	text, _ := value.(string)
	return text
}

// mayRefer reports whether the operator accepts a reference to an ARM id. Bodies of Azure have other ids too:
// services accept more types than their schemas tell, and write ids that are none.
func mayRefer(id string, targets []catalogue.Target) bool {
	_, err := azure.ParseID(id)
	return err == nil && catalogue.CheckTarget(id, targets) == nil
}

// azureForm returns a reference to a resource in the Azure form. A subscription and a resource group have
// no name.
func azureForm(id azure.ID, reference catalogue.AzureReference) map[string]any {
	inner := map[string]any{}
	switch id.Type() {
	case "Microsoft.Resources/subscriptions":
		inner["subscription"] = id.Subscription()
	case catalogue.ResourceGroupType:
		inner["subscription"], inner["resourceGroup"] = id.Subscription(), id.ResourceGroup()
	default:
		for key, value := range map[string]string{
			"subscription": reference.Subscription, "resourceGroup": reference.ResourceGroup, "name": reference.Name,
		} {
			if value != "" {
				inner[key] = value
			}
		}
	}
	return map[string]any{"azure": inner}
}

// own lets an imported object name its owner as an object, which was imported too.
func own(obj, owner *unstructured.Unstructured) {
	spec, _ := obj.Object["spec"].(map[string]any)
	spec[catalogue.OwnerField] = map[string]any{"kubernetes": map[string]any{"name": owner.GetName()}}
}

// objectName returns a name for an object from that of a resource: in lower case, with a dash for each
// character that names of objects can't have.
func objectName(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	plain = strings.Trim(plain[:min(len(plain), 253)], "-.")
	if plain == "" {
		return "resource"
	}
	return plain
}
