package dataflow

import (
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// fixed are the fields that a user's path must not set: only the API server or the operator sets
// these fields.
var fixed = [][]string{
	{"apiVersion"},
	{"kind"},
	{"metadata", "namespace"},
	{"metadata", "ownerReferences"},
	{"metadata", "uid"},
	{"metadata", "finalizers"},
	{"metadata", "managedFields"},
	{"metadata", "annotations", authorise.AuthorsAnnotation},
	{"metadata", "annotations", authorise.RenderedAnnotation},
	{"metadata", "annotations", authorise.TakeAnnotation},
	{"status"},
}

// ParseWritable parses a path that a user wrote in a field. The error is a [relation.FieldError] if
// the text is no path, or if the path leads into a field of fixed, such as metadata.namespace, or
// to an object that contains such a field, such as metadata.
func ParseWritable(field, text string) (relation.Path, error) {
	path, err := relation.ParsePath(text)
	if err != nil {
		return path, relation.Wrong(field, "%s", err)
	}
	root := path.Root()
	for _, f := range fixed {
		if both := min(len(root), len(f)); slices.Equal(root[:both], f[:both]) {
			return path, relation.Wrong(field, "%s can't be set by a path", strings.Join(f, "."))
		}
	}
	return path, nil
}

// parseUnnamed is [ParseWritable] for the values of other objects. Such a value must not set
// metadata.name: the names of all objects are compared before [Flow.Run] reads the values.
func parseUnnamed(field, text string) (relation.Path, error) {
	path, err := ParseWritable(field, text)
	if root := path.Root(); err == nil && len(root) > 1 && root[0] == "metadata" && root[1] == "name" {
		return path, relation.Wrong(field, "metadata.name can't be set by a value of another object")
	}
	return path, err
}

// Set returns content with a value at a path that a user wrote in a field. Set changes neither
// content nor any map or list in content. The error is a [relation.FieldError].
func Set(
	content map[string]any, field, text string, value any, budget *relation.Budget,
) (map[string]any, error) {
	path, err := ParseWritable(field, text)
	if err != nil {
		return nil, err
	}
	set, err := path.SetWithin(content, value, budget)
	if err != nil {
		return nil, relation.Wrong(field, "%s", err)
	}
	return set, nil
}

// one returns the value at a path that leads to one field.
func one(content map[string]any, text, field string) (value any, found bool, err error) {
	path, err := relation.ParsePath(text)
	if err != nil {
		return nil, false, relation.Wrong(field, "%s", err)
	}
	values := path.Values(content)
	if len(values) != 1 {
		return nil, false, nil
	}
	return values[0].Value, true, nil
}
