package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Bounds of values for which the schema has none.
const (
	maxText     = 1 << 18
	maxList     = 8192
	maxNameText = 260
	namePattern = `^[^/?#%<>\\]+$` // of names in ARM, whatever the type
)

// maxRuled bounds the number of references in one object for which CEL checks the form. Where an object
// may have more, the API server would refuse the rule as too expensive, and oneOf checks instead.
const maxRuled = maxList

const (
	oneForm = "[has(self.kubernetes), has(self.azure), has(self.self)].filter(x, x).size() == 1"
	oneText = "give exactly one of kubernetes, azure and self"
)

// CRD returns the CustomResourceDefinition of a kind. All versions have to be of one kind. The first
// version is stored. names are the categories of the definition, such as azure.
func CRD(kinds *Catalogue, versions []*Kind) (*unstructured.Unstructured, error) {
	list := make([]any, 0, len(versions))
	for i, k := range versions {
		spec, err := kinds.specSchema(k)
		if err != nil {
			return nil, err
		}
		list = append(list, map[string]any{
			"name": k.Version, "served": true, "storage": i == 0,
			"subresources": map[string]any{"status": map[string]any{}},
			"additionalPrinterColumns": []any{
				column("Ready", `.status.conditions[?(@.type=="Ready")].status`),
				column("Reason", `.status.conditions[?(@.type=="Ready")].reason`),
				column("Message", `.status.conditions[?(@.type=="Ready")].message`),
			},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "description": k.describe(), "required": []any{"spec"},
				"properties": map[string]any{
					"apiVersion": scalar("string"), "kind": scalar("string"), "metadata": scalar("object"),
					"spec": spec, "status": statusSchema(),
				},
			}},
		})
	}
	k := versions[0]
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": k.Group, "scope": "Namespaced", "versions": list,
		"names": map[string]any{
			"kind": k.Kind, "listKind": k.Kind[:min(len(k.Kind), 59)] + "List", "plural": k.Plural, "singular": strings.ToLower(k.Kind),
			"categories": []any{"azure"},
		},
	}}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(k.Plural + "." + k.Group)
	return crd, nil
}

func column(name, path string) map[string]any {
	c := map[string]any{"name": name, "type": "string", "jsonPath": path}
	if name == "Message" {
		c["priority"] = int64(1)
	}
	return c
}

// describe says where the provider documents the type.
func (k *Kind) describe() string {
	return fmt.Sprintf("%s is %s in api-version %s: https://learn.microsoft.com/azure/templates/%s/%s", k.Kind, k.Type,
		k.APIVersion, k.APIVersion, strings.ToLower(k.Type))
}

// specSchema returns the schema of the spec.
func (c *Catalogue) specSchema(k *Kind) (map[string]any, error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, err
	}
	s := schemas{kinds: c}
	spec := s.object(definition.Body, 1)
	spec["description"] = "Spec has the properties of the ARM body, those in its property properties included."
	properties, _ := spec["properties"].(map[string]any)
	properties[AzureNameField] = nameSchema(definition.Name)
	properties[OwnerField] = s.owner(k)
	properties[RawField] = rawSchema()
	addOptions(properties)
	if required := k.requiresOwner(); required {
		spec["required"] = []any{OwnerField}
	}
	spec["x-kubernetes-validations"] = []any{
		rule("has(self.azureName) == has(oldSelf.azureName) && (!has(self.azureName) || self.azureName == oldSelf.azureName)",
			"azureName is immutable"),
		rule("has(self.ownerRef) == has(oldSelf.ownerRef) && (!has(self.ownerRef) || self.ownerRef == oldSelf.ownerRef)",
			"ownerRef is immutable"),
	}
	return spec, nil
}

// requiresOwner tells whether each resource of the kind has an owner that the user has to name.
func (k *Kind) requiresOwner() bool {
	return !k.Scopes.Has(TenantScope) && !k.Scopes.Has(SubscriptionScope)
}

// owner returns the schema of ownerRef.
func (s schemas) owner(k *Kind) map[string]any {
	var targets []Target
	if k.Owner != "" {
		targets = []Target{{Type: k.Owner}}
	}
	schema := s.reference(targets, 1)
	properties, _ := schema["properties"].(map[string]any)
	delete(properties, "self")
	schema["x-kubernetes-validations"] = slices.Concat([]any{
		rule("has(self.kubernetes) != has(self.azure)", "give exactly one of kubernetes and azure"),
	}, s.targetRules(targets))
	schema["description"] = "OwnerRef names the owner of the resource in ARM"
	if k.Owner != "" {
		schema["description"] = "OwnerRef names the owner of the resource, of " + k.Owner
	}
	return schema
}

func nameSchema(name *Shape) map[string]any {
	schema := map[string]any{
		"type": "string", "minLength": int64(1), "maxLength": int64(maxNameText), "pattern": namePattern,
		"description": "AzureName is the name of the resource in ARM. It defaults to metadata.name",
	}
	if len(name.Enum) > 0 {
		schema["enum"] = enumValues(name)
	}
	return schema
}

func rawSchema() map[string]any {
	return map[string]any{
		"type": "array", "maxItems": int64(maxList), "x-kubernetes-list-type": "atomic",
		"description": "Raw sets values in the ARM body that this api-version's schema doesn't know",
		"items": map[string]any{
			"type": "object", "required": []any{"path"},
			"properties": map[string]any{
				"path": map[string]any{
					"type": "string", "pattern": "^/", "maxLength": int64(4096),
					"description": "Path in the ARM body, a JSON pointer such as /properties/dhcpOptions",
				},
				"value": map[string]any{
					"x-kubernetes-preserve-unknown-fields": true, "description": "Value is any JSON value. Without it the value is null",
				},
			},
		},
	}
}

func rule(cel, message string) any { return map[string]any{"rule": cel, "message": message} }

func scalar(jsonType string) map[string]any { return map[string]any{"type": jsonType} }

// schemas makes the schemas of shapes.
type schemas struct{ kinds *Catalogue }

// of returns the schema of a shape. count bounds how often the value is in one object.
func (s schemas) of(shape *Shape, count int) map[string]any {
	switch shape.Type {
	case Object:
		return s.object(shape, count)
	case List:
		most := maxList
		if shape.MaxLength > 0 {
			most = int(shape.MaxLength)
		}
		list := map[string]any{
			"type": "array", "maxItems": int64(most), "items": s.of(shape.Items, product(count, most)),
		}
		if shape.MinLength > 0 {
			list["minItems"] = shape.MinLength
		}
		return list
	case Map:
		return map[string]any{
			"type": "object", "maxProperties": int64(maxList), "additionalProperties": s.of(shape.Items, product(count, maxList)),
		}
	case IDMap:
		value := s.of(shape.Items, maxRuled+1)
		return map[string]any{"type": "array", "maxItems": int64(maxList), "items": map[string]any{
			"type": "object", "required": []any{"ref"},
			"properties": map[string]any{"ref": s.reference(shape.Targets, product(count, maxList)), "value": value},
		}}
	case ID, IDObject:
		return s.reference(shape.Targets, count)
	case IntOrString:
		return map[string]any{"x-kubernetes-int-or-string": true}
	case Any:
		return map[string]any{"x-kubernetes-preserve-unknown-fields": true}
	default:
		return scalarSchema(shape)
	}
}

func product(a, b int) int { return min(a*b, maxRuled+1) }

func (s schemas) object(shape *Shape, count int) map[string]any {
	properties := make(map[string]any, len(shape.Properties))
	for _, p := range shape.Properties {
		schema := s.of(p.Shape, count)
		if p.ARM != p.Name {
			schema["description"] = "ARM: " + p.path()
		}
		properties[p.Name] = schema
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if shape.Open {
		schema["x-kubernetes-preserve-unknown-fields"] = true
	}
	return schema
}

// path returns the path of the property in the ARM object.
func (p Property) path() string {
	if p.Nested {
		return "properties." + p.ARM
	}
	return p.ARM
}

// reference returns the schema of a Reference.
func (s schemas) reference(targets []Target, count int) map[string]any {
	text := func(most int) map[string]any { return map[string]any{"type": "string", "maxLength": int64(most)} }
	name := map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(253)}
	kubernetes := map[string]any{
		"type": "object", "required": []any{"name"},
		"properties": map[string]any{"group": text(253), "kind": text(63), "name": name, "path": text(1024)},
	}
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"kubernetes": kubernetes,
			"azure": map[string]any{"type": "object", "properties": map[string]any{
				"subscription": text(64), "resourceGroup": text(90), "name": text(2048),
			}},
			"self": map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(1024)},
		},
	}
	if count > maxRuled {
		schema["oneOf"] = []any{requires("kubernetes"), requires("azure"), requires("self")}
		return schema
	}
	schema["x-kubernetes-validations"] = slices.Concat([]any{rule(oneForm, oneText)}, s.targetRules(targets))
	return schema
}

func requires(field string) any { return map[string]any{"required": []any{field}} }

// targetRules returns the rules for group and kind of a reference.
func (s schemas) targetRules(targets []Target) []any {
	var kinds, groups []string
	for _, t := range targets {
		k := s.kinds.Default(t.Type)
		if k == nil {
			return nil // a type without a kind can be named in the azure form only
		}
		kinds = append(kinds, k.Kind)
		groups = append(groups, k.Group)
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	switch {
	case len(kinds) == 0:
		return []any{rule("!has(self.kubernetes) || has(self.kubernetes.kind) && has(self.kubernetes.group)",
			"give group and kind: the reference may be to any kind")}
	case len(kinds) > 1:
		return []any{rule(fmt.Sprintf("!has(self.kubernetes) || has(self.kubernetes.kind) && self.kubernetes.kind in ['%s']"+
			" && (!has(self.kubernetes.group) || self.kubernetes.group in ['%s'])",
			strings.Join(kinds, "', '"), strings.Join(groups, "', '")), "give a kind of "+strings.Join(kinds, ", "))}
	}
	return []any{rule(fmt.Sprintf("!has(self.kubernetes) || (!has(self.kubernetes.kind) || self.kubernetes.kind == '%s')"+
		" && (!has(self.kubernetes.group) || self.kubernetes.group == '%s')", kinds[0], groups[0]),
		"the reference has to be to a "+kinds[0]+" of "+groups[0])}
}

func scalarSchema(shape *Shape) map[string]any {
	schema := map[string]any{}
	switch shape.Type {
	case String:
		schema["type"], schema["maxLength"] = "string", int64(maxText)
	case Integer:
		schema["type"] = "integer"
	case Number:
		schema["type"] = "number"
	default:
		schema["type"] = "boolean"
	}
	if shape.MinLength > 0 {
		schema["minLength"] = shape.MinLength
	}
	if shape.MaxLength > 0 {
		schema["maxLength"] = shape.MaxLength
	}
	if shape.Pattern != "" {
		schema["pattern"] = shape.Pattern
	}
	if len(shape.Enum) > 0 {
		schema["enum"] = enumValues(shape)
	}
	if shape.Minimum != nil {
		schema["minimum"] = *shape.Minimum
	}
	if shape.Maximum != nil {
		schema["maximum"] = *shape.Maximum
	}
	return schema
}

func enumValues(shape *Shape) []any {
	values := make([]any, len(shape.Enum))
	for i, e := range shape.Enum {
		values[i] = e
	}
	return values
}
