package catalogue

import (
	"fmt"
	"regexp"
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

// CRD returns the CustomResourceDefinition of a kind. All versions have to be of one kind. The first
// version is stored.
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
				column("Policy", `.spec.managementPolicy`),
				column("OnDelete", `.spec.managedOptions.onDelete`),
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
	if name != "Ready" && name != "Reason" { // shown by kubectl get -o wide
		c["priority"] = int64(1)
	}
	return c
}

// describe says where the provider documents the type.
func (k *Kind) describe() string {
	provider, types, _ := strings.Cut(strings.ToLower(k.Type), "/")
	return fmt.Sprintf("%s is %s in api-version %s: https://learn.microsoft.com/azure/templates/%s/%s/%s", k.Kind, k.Type,
		k.APIVersion, provider, k.APIVersion, types)
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
	properties[AzureNameField] = nameSchema(definition.Name, k.GUIDName)
	properties[RawField] = rawSchema(definition.Sensitive)
	addOptions(properties)
	rules := []any{immutable(AzureNameField)}
	if owner, required := s.owner(k); owner != nil {
		properties[OwnerField] = owner
		rules = append(rules, immutable(OwnerField))
		if required {
			spec["required"] = []any{OwnerField}
		}
	}
	spec["x-kubernetes-validations"] = rules
	return spec, nil
}

// immutable is the rule that a field of the spec doesn't change, appear or disappear.
func immutable(field string) any {
	return rule(strings.ReplaceAll("has(self.F) == has(oldSelf.F) && (!has(self.F) || self.F == oldSelf.F)", "F", field),
		field+" is immutable")
}

// owner returns the schema of ownerRef, or nil for a kind whose resources have no owner. required tells
// whether each resource has an owner that the user has to name.
func (s schemas) owner(k *Kind) (schema map[string]any, required bool) {
	nested := isInType(k.Type)
	if k.Owner == "" && k.Scopes == TenantScope {
		return nil, false
	}
	var targets []Target
	forms := []string{"kubernetes", "azure"}
	description := "OwnerRef names the owner of the resource in ARM"
	switch {
	case k.Extends():
		description = "OwnerRef names the resource in which the resource is, of any group and kind"
		if k.Owner != "" {
			description += "; by default of " + k.Owner
		}
	case k.Owner != "":
		targets = []Target{{Type: k.Owner}}
		description = "OwnerRef names the owner of the resource, of " + k.Owner
	case !k.Scopes.Has(ExtensionScope) && !k.Scopes.Has(UnknownScope):
		forms = forms[1:] // a subscription or a management group
	}
	schema = s.reference(targets, 1, forms)
	schema["description"] = description
	if kubernetes, ok := schema["properties"].(map[string]any)["kubernetes"].(map[string]any); ok {
		delete(kubernetes["properties"].(map[string]any), "path") // no resource is owned by a part
		if k.Extends() && k.Owner != "" {
			kubernetes["required"] = []any{"name"}
		}
	}
	return schema, nested || !k.Scopes.Has(TenantScope) && !k.Scopes.Has(SubscriptionScope)
}

// isInType reports whether a resource of a type is in one of the type in front of the last segment.
func isInType(armType string) bool { return strings.Count(armType, "/") > 1 }

func nameSchema(name *Shape, isGUID bool) map[string]any {
	schema := map[string]any{
		"type": "string", "minLength": int64(1), "maxLength": int64(maxNameText), "pattern": namePattern,
		"description": "AzureName is the name of the resource in ARM. It defaults to metadata.name",
	}
	if isGUID {
		schema["description"] = "AzureName is the name of the resource in ARM, a GUID. It defaults to metadata.name if that " +
			"is a GUID, or else to metadata.uid"
	}
	if len(name.Enum) > 0 {
		schema["enum"] = anyValues(name.Enum)
	}
	return schema
}

// secretSchema returns the schema of a SecretKey.
func secretSchema() map[string]any {
	text := func(pattern string) map[string]any {
		return map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(253), "pattern": pattern}
	}
	return map[string]any{
		"type": "object", "required": []any{"name", "key"},
		"properties": map[string]any{"name": text(`^[a-z0-9.-]+$`), "key": text(`^[-._a-zA-Z0-9]+$`)},
	}
}

// rawSchema returns the schema of spec.raw. No path leads to one of the sensitive values or into one.
func rawSchema(sensitive []Path) map[string]any {
	path := map[string]any{
		"type": "string", "pattern": "^/", "maxLength": int64(4096),
		"description": "Path in the ARM body, a JSON pointer such as /properties/dhcpOptions",
	}
	if len(sensitive) > 0 {
		options := make([]string, len(sensitive))
		for i, p := range sensitive {
			options[i] = strings.ReplaceAll(regexp.QuoteMeta(string(p)), `\*`, "[^/]*")
		}
		path["not"] = map[string]any{"pattern": "(?i)^(" + strings.Join(options, "|") + ")(/|$)"}
	}
	return map[string]any{
		"type": "array", "maxItems": int64(maxList), "x-kubernetes-list-type": "atomic",
		"description": "Raw sets values in the ARM body that this api-version's schema doesn't know",
		"items": map[string]any{
			"type": "object", "required": []any{"path"},
			"properties": map[string]any{
				"path": path,
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
			"properties": map[string]any{"ref": s.reference(shape.Targets, product(count, maxList), allForms), "value": value},
		}}
	case ID, IDObject:
		return s.reference(shape.Targets, count, allForms)
	case Secret:
		return secretSchema()
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
		if p.Nested || p.ARM != p.Name {
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

// allForms are the forms of a reference that is no owner.
var allForms = []string{"kubernetes", "azure", "self"}

// reference returns the schema of a Reference in one of some forms. The form kubernetes is left out where
// the resources have no kind.
func (s schemas) reference(targets []Target, count int, forms []string) map[string]any {
	properties := map[string]any{}
	var used []string
	for _, form := range forms {
		var schema map[string]any
		switch form {
		case "kubernetes":
			schema = s.kubernetes(targets)
		case "azure":
			schema = map[string]any{"type": "object", "properties": map[string]any{
				"subscription": boundText(64), "resourceGroup": boundText(90), "name": boundText(2048),
			}}
		default:
			schema = map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(1024)}
		}
		if schema != nil {
			properties[form] = schema
			used = append(used, form)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if count > maxRuled {
		options := make([]any, 0, len(used))
		for _, form := range used {
			options = append(options, map[string]any{"required": []any{form}})
		}
		schema["oneOf"] = options
		return schema
	}
	schema["x-kubernetes-validations"] = []any{rule(
		"[has(self."+strings.Join(used, "), has(self.")+")].filter(x, x).size() == 1",
		"give exactly one of "+strings.Join(used, ", "))}
	return schema
}

func boundText(most int) map[string]any {
	return map[string]any{"type": "string", "maxLength": int64(most)}
}

// kubernetes returns the schema of a KubernetesReference, or nil if a target has no kind.
func (s schemas) kubernetes(targets []Target) map[string]any {
	var kinds, groups []string
	parts := len(targets) > 0
	for _, t := range targets {
		k := s.kinds.Default(t.Type)
		if k == nil {
			return nil
		}
		kinds = append(kinds, k.Kind)
		groups = append(groups, k.Group)
		parts = parts && t.Part != ""
	}
	properties := map[string]any{
		"group": oneOfTexts(groups, 253), "kind": oneOfTexts(kinds, 63), "path": boundText(1024),
		"name": map[string]any{"type": "string", "minLength": int64(1), "maxLength": int64(253)},
	}
	required := []any{"name"}
	if len(targets) == 0 {
		required = append(required, "group", "kind")
	}
	if len(targets) > 1 {
		required = append(required, "kind")
	}
	if parts {
		required = append(required, "path")
	}
	return map[string]any{"type": "object", "required": required, "properties": properties}
}

// oneOfTexts returns the schema of a string with one of some values, or any if there are none.
func oneOfTexts(values []string, most int) map[string]any {
	schema := boundText(most)
	slices.Sort(values)
	if values = slices.Compact(values); len(values) > 0 {
		schema["enum"] = anyValues(values)
	}
	return schema
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
	if len(shape.Enum) > 0 && !shape.Open {
		schema["enum"] = anyValues(shape.Enum)
	}
	if shape.Minimum != nil {
		schema["minimum"] = *shape.Minimum
	}
	if shape.Maximum != nil {
		schema["maximum"] = *shape.Maximum
	}
	return schema
}

func anyValues(texts []string) []any {
	values := make([]any, len(texts))
	for i, t := range texts {
		values[i] = t
	}
	return values
}
