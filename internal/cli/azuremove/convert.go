package azuremove

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Convert turns an object of Azure Service Operator v2 into one of the catalogue. Convert returns what could not
// be converted, by path.
func Convert(all *catalogue.Catalogue, other *unstructured.Unstructured) (*unstructured.Unstructured, []string, error) {
	k := counterpart(all, other.GroupVersionKind().GroupKind())
	if k == nil {
		return nil, nil, fmt.Errorf("no kind of the catalogue is as %s", other.GroupVersionKind().GroupKind())
	}
	definition, err := k.Definition()
	if err != nil {
		return nil, nil, err
	}
	c := converter{all: all}
	theirs, _ := other.Object["spec"].(map[string]any)
	rest := maps.Clone(theirs)
	spec := map[string]any{}
	if owner, ok := rest["owner"].(map[string]any); ok {
		spec[catalogue.OwnerField] = c.reference(owner, ".owner", k.Owner != "" && !k.Extends())
	}
	if name, ok := rest["azureName"].(string); ok {
		spec[catalogue.AzureNameField] = name
	}
	delete(rest, "owner")
	delete(rest, "azureName")
	maps.Copy(spec, c.object(definition.Body, rest, ""))
	switch policy := other.GetAnnotations()["serviceoperator.azure.com/reconcile-policy"]; policy {
	case "", "manage":
	case "detach-on-delete":
		spec["managedOptions"] = map[string]any{"onDelete": "detach"}
	case "skip":
		spec["managementPolicy"], spec["import"] = "unmanaged", map[string]any{}
	default:
		c.left = append(c.left, "annotation reconcile-policy: "+policy)
	}
	ours := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	ours.SetGroupVersionKind(k.GroupVersionKind())
	ours.SetName(other.GetName())
	ours.SetNamespace(other.GetNamespace())
	ours.SetLabels(other.GetLabels())
	return ours, c.left, nil
}

// converter walks a spec along the shape of its kind.
type converter struct {
	all  *catalogue.Catalogue
	left []string
}

func (c *converter) leave(path, why string) {
	c.left = append(c.left, strings.TrimPrefix(path, ".")+": "+why)
}

// object converts the fields of an object.
func (c *converter) object(s *catalogue.Shape, theirs map[string]any, path string) map[string]any {
	ours := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		p := propertyFor(s, name)
		place := path + "." + name
		inner, isObject := theirs[name].(map[string]any)
		switch {
		case p != nil && p.Shape.Type == catalogue.Secret && !isSecretKey(theirs[name]):
			c.leave(place, "a secret: name a Secret and a key in it")
		case p != nil:
			ours[p.Name] = c.value(p.Shape, theirs[name], place)
		case name == "properties" && isObject: // Theirs does not always lift these.
			maps.Copy(ours, c.object(s, inner, place))
		case name == "operatorSpec":
			c.leave(place, "write values of the resource into Secrets and ConfigMaps yourself")
		case s.Open:
			ours[name] = theirs[name]
		default:
			c.leave(place, "this api-version has no such field")
		}
	}
	return ours
}

func isSecretKey(value any) bool {
	_, err := catalogue.ParseSecretKey(value)
	return err == nil
}

// propertyFor returns the property for a field: xReference stands for x or xId.
func propertyFor(s *catalogue.Shape, name string) *catalogue.Property {
	names := []string{name}
	if base, ok := strings.CutSuffix(name, "Reference"); ok {
		names = append(names, base, base+"Id", base+"ID", base+"Ref")
	}
	if base, ok := strings.CutSuffix(name, "References"); ok {
		names = append(names, base, base+"s", base+"Ids", base+"IDs", base+"Refs")
	}
	if name == "reference" {
		names = append(names, "id")
	}
	for _, one := range names {
		for i := range s.Properties {
			if s.Properties[i].Name == one {
				return &s.Properties[i]
			}
		}
	}
	return nil
}

// value converts a value.
func (c *converter) value(s *catalogue.Shape, theirs any, path string) any {
	switch v := theirs.(type) {
	case map[string]any:
		return c.fields(s, v, path)
	case []any:
		if s.Items == nil {
			return theirs
		}
		ours := make([]any, len(v))
		for i, item := range v {
			ours[i] = c.value(s.Items, item, fmt.Sprintf("%s[%d]", path, i))
		}
		return ours
	default:
		return theirs
	}
}

// fields converts an object, a map or a reference.
func (c *converter) fields(s *catalogue.Shape, theirs map[string]any, path string) any {
	switch s.Type {
	case catalogue.ID, catalogue.IDObject:
		if inner, ok := theirs["reference"].(map[string]any); ok {
			theirs = inner
		}
		return c.reference(theirs, path, len(s.Targets) == 1)
	case catalogue.Object:
		return c.object(s, theirs, path)
	case catalogue.Map:
		ours := make(map[string]any, len(theirs))
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			ours[key] = c.value(s.Items, theirs[key], path+"."+key)
		}
		return ours
	default:
		return theirs
	}
}

// reference converts a reference. Where its field allows one kind only, group and kind are left out.
func (c *converter) reference(theirs map[string]any, path string, one bool) map[string]any {
	text := func(field string) string { s, _ := theirs[field].(string); return s }
	if id := text("armId"); id != "" {
		azureReference, ok := catalogue.ReferenceTo(id)
		if !ok {
			c.leave(path+".armId", fmt.Sprintf("%q is no ARM id", id))
		}
		inner := map[string]any{}
		for key, value := range map[string]string{
			"subscription": azureReference.Subscription, "resourceGroup": azureReference.ResourceGroup,
			"name": azureReference.Name,
		} {
			if value != "" {
				inner[key] = value
			}
		}
		return map[string]any{"azure": inner}
	}
	inner := map[string]any{"name": text("name")}
	if gk := (schema.GroupKind{Group: text("group"), Kind: text("kind")}); gk.Kind != "" && !one {
		if k := counterpart(c.all, gk); k != nil {
			inner["group"], inner["kind"] = k.Group, k.Kind
		} else {
			c.leave(path, "no kind of the catalogue is as "+gk.String())
		}
	}
	return map[string]any{"kubernetes": inner}
}
