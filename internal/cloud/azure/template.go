package azure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const templateSchema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"

// Template returns a template with the resource that has an [ID], and with the owner of the resource,
// which must exist in Azure. No text in the body is a template expression: ARM evaluates a text that begins with [ and
// ends with ], such as "[listKeys(...)]", with the rights of the credentials. No key of the body is one of words.
// Template escapes values. For keys and names Azure has no escape, so Template returns an error that names the field.
//
// A [Secure] in the body becomes a parameter of the template, and values has the secret. ARM shows the template of a
// deployment, and hides the values of secure parameters.
func Template(
	id ID, armType, apiVersion string, body map[string]any, ownerVersion string,
) (template, values map[string]any, err error) {
	for _, name := range id.Names() {
		if strings.HasPrefix(name, "[") {
			return nil, nil, fmt.Errorf("the name %q begins with [, which a template takes for an expression: %s",
				name, withoutTemplate)
		}
	}
	if err := checkWords(body); err != nil {
		return nil, nil, err
	}
	p := parameters{declared: map[string]any{}, values: map[string]any{}}
	escaped, err := p.escape(body, "")
	if err != nil {
		return nil, nil, err
	}
	resource, _ := escaped.(map[string]any)
	resource["type"], resource["apiVersion"], resource["name"] = armType, apiVersion, strings.Join(id.Names(), "/")
	resources := map[string]any{"resource": resource}
	if owner := id.Parent(); !owner.Equal(id.In()) {
		resources["owner"] = map[string]any{
			"existing": true, "type": owner.Type(), "apiVersion": ownerVersion, "name": strings.Join(owner.Names(), "/"),
		}
		resource["dependsOn"] = []any{"owner"}
	}
	template = map[string]any{
		"$schema": templateSchema, "languageVersion": "2.0", "contentVersion": "1.0.0.0", "resources": resources,
	}
	if len(p.declared) > 0 {
		template["parameters"] = p.declared
	}
	return template, p.values, nil
}

// Secure is a secret in a body for Template: a text, or an object.
type Secure struct{ Value any }

// parameters are the secure parameters of a template, and their values.
type parameters struct{ declared, values map[string]any }

// add returns the expression for a new parameter.
func (p parameters) add(secret Secure) string {
	name, kind := fmt.Sprintf("secret%d", len(p.values)+1), "secureObject"
	if _, isText := secret.Value.(string); isText {
		kind = "secureString"
	}
	p.declared[name] = map[string]any{"type": kind}
	p.values[name] = map[string]any{"value": secret.Value}
	return "[parameters('" + name + "')]"
}

// withoutTemplate says what to do about a text that a template can't have.
const withoutTemplate = "rename it, or run the operator with --azure-submission=put"

// words are the keys of a resource that ARM reads as a part of the template, in any case of their letters. In the body
// of a PUT they mean nothing to ARM. With "scope" the resource would get another id than Template's, and with
// "resources" ARM would create resources of any type, which no object describes and no user was allowed to create.
var words = []string{
	"type", "apiVersion", "name", "@options", "asserts", "comments", "condition", loop, "dependsOn", "existing",
	"extension", "import", "metadata", "resources", "scope",
}

// loop is the key of loops: beside a resource a loop makes several resources, and with a list as its value a loop makes
// lists in the body.
const loop = "copy"

// own are the words that Template sets itself, whatever the body has.
var own = words[:3]

// checkWords returns an error for a key at the top of a body that is one of words.
func checkWords(body map[string]any) error {
	for _, key := range slices.Sorted(maps.Keys(body)) {
		isWord := slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(word, key) })
		if isWord && !slices.Contains(own, key) {
			return fmt.Errorf("the key %q of the resource is a word of templates: %s", key, withoutTemplate)
		}
	}
	return nil
}

// checkKey returns an error for a key that ARM would evaluate.
func checkKey(key string, value any, path string) error {
	if strings.HasPrefix(key, "[") {
		return fmt.Errorf("the key %q of %s begins with [, which a template takes for an expression: %s",
			key, cmp.Or(path, "the resource"), withoutTemplate)
	}
	if _, isList := value.([]any); isList && strings.EqualFold(key, loop) {
		return fmt.Errorf("the list %q of %s is a loop of a template: %s", key, cmp.Or(path, "the resource"), withoutTemplate)
	}
	return nil
}

// escape returns a copy of a value in which no text is a template expression: "[a]" becomes "[[a]". The error names
// the first key, in the order of the keys, that checkKey refuses.
func (p parameters) escape(value any, path string) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			err := checkKey(key, v[key], path)
			if err != nil {
				return nil, err
			}
			if out[key], err = p.escape(v[key], strings.TrimPrefix(path+"."+key, ".")); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			var err error
			if out[i], err = p.escape(inner, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case Secure:
		return p.add(v), nil
	case string:
		if strings.HasPrefix(v, "[") && strings.HasSuffix(v, "]") {
			return "[" + v, nil
		}
	}
	return value, nil
}
