package relation

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/openapi3"
)

const (
	// rightTTL is how long the answer is used that a path is right: a schema rarely loses a field.
	rightTTL = time.Hour
	// maxRight bounds the size of Schemas.right.
	maxRight = 1024
)

// Schemas reads the schemas of kinds from the OpenAPI documents of the API server, which every user may read.
// Schemas is safe for concurrent use.
type Schemas struct {
	root  openapi3.Root
	right *cache.LRUExpireCache // by question
}

// question is the input of [Schemas.Check].
type question struct {
	kind       schema.GroupVersionKind
	path, want string
}

// NewSchemas returns the [Schemas] of a cluster.
func NewSchemas(client openapi.Client) *Schemas {
	return &Schemas{openapi3.NewRoot(client), cache.NewLRUExpireCache(maxRight)}
}

// Types of a field in a schema.
const (
	TypeObject = "object"
	TypeList   = "array"
)

// Check checks that objects of a kind have the field that a path leads to, and that the field may hold a
// value of a type ([TypeObject] or [TypeList]). The API server drops a field that the schema does not have,
// without an error. The error is a [FieldError] that names the first field that is missing, or the field of
// another type, or an error of the API server. known is false if the API server has no schema for the kind, as
// for a moment after its CustomResourceDefinition was applied. Only the answer that a path is right is kept.
func (s *Schemas) Check(gvk schema.GroupVersionKind, path Path, want string) (known bool, err error) {
	asked := question{gvk, path.text, want}
	if _, isRight := s.right.Get(asked); isRight {
		return true, nil
	}
	document, err := s.root.GVSpecAsMap(gvk.GroupVersion())
	if _, unknown := errors.AsType[*openapi3.GroupVersionNotFoundError](err); unknown {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the schema of %s: %w", gvk, err)
	}
	schemas := at(document, "components", "schemas")
	root := schemaOf(schemas, gvk)
	if root == nil {
		return false, nil
	}
	if wrong := checkSchema(schemas, root, path, want); wrong != nil {
		return true, wrong
	}
	s.right.Add(asked, nil, rightTTL)
	return true, nil
}

// at returns an object in the content of another one, or nil.
func at(content map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		content, _ = content[f].(map[string]any)
	}
	return content
}

// schemaOf returns the schema of a kind, or nil.
func schemaOf(schemas map[string]any, gvk schema.GroupVersionKind) map[string]any {
	for _, one := range schemas {
		content, _ := one.(map[string]any)
		kinds, _ := content["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			names, _ := k.(map[string]any)
			if names["group"] == gvk.Group && names["version"] == gvk.Version && names["kind"] == gvk.Kind {
				return content
			}
		}
	}
	return nil
}

// checkSchema walks a path through a schema.
func checkSchema(schemas, now map[string]any, path Path, want string) *FieldError {
	field := ""
	for _, step := range path.steps {
		now = resolved(schemas, now)
		if step.list {
			if !mayBe(now, TypeList) {
				return Wrong(nameOf(field), "it is no list in the schema of the kind")
			}
			field, now = field+"[*]", at(now, "items")
			continue
		}
		field = joinField(field, step.field)
		inner, isFree := property(now, step.field)
		switch {
		case isFree:
			return nil
		case inner == nil:
			return Wrong(field, "the schema of the kind has no such field")
		}
		now = inner
	}
	switch {
	case mayBe(resolved(schemas, now), want):
		return nil
	case want == TypeList:
		return Wrong(field, "it is no list in the schema of the kind")
	default:
		return Wrong(field, "it is no %s in the schema of the kind", want)
	}
}

// property returns the schema of a field of an object, or nil. isFree says that objects may have any field.
func property(of map[string]any, name string) (inner map[string]any, isFree bool) {
	if inner = at(of, "properties", name); inner != nil {
		return inner, false
	}
	switch additional := of["additionalProperties"].(type) {
	case map[string]any:
		return additional, false
	case bool:
		return nil, additional
	}
	_, hasProperties := of["properties"]
	isTyped := hasProperties || of["type"] != nil && of["type"] != TypeObject
	// An object of a built-in kind without properties, such as RawExtension, may hold anything.
	return nil, of["x-kubernetes-preserve-unknown-fields"] == true || !isTyped
}

// resolved follows a reference to another schema of the document.
func resolved(schemas, of map[string]any) map[string]any {
	const depth = 8 // A schema of Kubernetes refers once.
	for range depth {
		reference, _ := of["$ref"].(string)
		if all, _ := of["allOf"].([]any); reference == "" && len(all) == 1 {
			first, _ := all[0].(map[string]any)
			reference, _ = first["$ref"].(string)
		}
		target, found := schemas[strings.TrimPrefix(reference, "#/components/schemas/")].(map[string]any)
		if !found {
			return of
		}
		of = target
	}
	return of
}

// mayBe reports whether a schema allows values of a type.
func mayBe(of map[string]any, want string) bool {
	given, isGiven := of["type"].(string)
	return !isGiven || given == want
}
