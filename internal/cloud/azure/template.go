package azure

import (
	"maps"
	"strings"
)

const templateSchema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"

// Template returns a template with the resource that has an [ID], and with the owner of the resource,
// which must exist in Azure. Text in the body is no template expression.
func Template(id ID, armType, apiVersion string, body map[string]any, ownerVersion string) map[string]any {
	resource, _ := escape(body).(map[string]any)
	resource["type"], resource["apiVersion"], resource["name"] = armType, apiVersion, strings.Join(id.Names(), "/")
	resources := map[string]any{"resource": resource}
	if owner := id.Parent(); !owner.Equal(id.In()) {
		resources["owner"] = map[string]any{
			"existing": true, "type": owner.Type(), "apiVersion": ownerVersion, "name": strings.Join(owner.Names(), "/"),
		}
		resource["dependsOn"] = []any{"owner"}
	}
	return map[string]any{
		"$schema": templateSchema, "languageVersion": "2.0", "contentVersion": "1.0.0.0", "resources": resources,
	}
}

// escape returns a copy of a value in which no text is a template expression: "[a]" becomes "[[a]".
func escape(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for key, inner := range v {
			out[key] = escape(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = escape(inner)
		}
		return out
	case string:
		if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
			return "[" + v
		}
	}
	return value
}
