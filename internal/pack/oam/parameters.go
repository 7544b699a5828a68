package oam

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// fieldError says what is wrong with a field of an ApplicationConfiguration or of what it names, and
// what to do.
type fieldError struct{ field, reason string }

// Error implements error.
func (e *fieldError) Error() string { return e.field + ": " + e.reason }

func wrong(field, format string, args ...any) *fieldError {
	return &fieldError{field, fmt.Sprintf(format, args...)}
}

// pathBudget bounds what all paths of one application set, in elements and bytes. The values of an
// application of 256 components are far below.
const pathBudget = 4 << 20

// fixed are the fields that no path may lead to: the operator decides them.
var fixed = [][]string{
	{"apiVersion"},
	{"kind"},
	{"metadata", "namespace"},
	{"metadata", "ownerReferences"},
	{"metadata", "uid"},
	{"metadata", "finalizers"},
	{"metadata", "managedFields"},
	{"metadata", "annotations", authorise.AuthorsAnnotation},
	{"status"},
}

// writablePath parses a path that a user wrote, and refuses one into a fixed field, or to an object
// with a fixed field.
func writablePath(field, text string) (relation.Path, error) {
	path, err := relation.ParsePath(text)
	if err != nil {
		return path, wrong(field, "%s", err)
	}
	root := path.Root()
	for _, f := range fixed {
		if both := min(len(root), len(f)); slices.Equal(root[:both], f[:both]) {
			return path, wrong(field, "%s can't be set by a path", strings.Join(f, "."))
		}
	}
	return path, nil
}

// setParameters returns the content of a workload with the values that an application gives.
func setParameters(
	content map[string]any, parameters []oamv1alpha2.ComponentParameter,
	values []oamv1alpha2.ComponentParameterValue, field string, budget *relation.Budget,
) (map[string]any, error) {
	given := map[string]intstr.IntOrString{}
	for i, v := range values {
		known := slices.ContainsFunc(parameters, func(p oamv1alpha2.ComponentParameter) bool { return p.Name == v.Name })
		if !known {
			return nil, wrong(fmt.Sprintf("%s.parameterValues[%d]", field, i), "the Component has no parameter %q", v.Name)
		}
		given[v.Name] = v.Value
	}
	for _, p := range parameters {
		value, ok := given[p.Name]
		if !ok {
			if p.Required != nil && *p.Required {
				return nil, wrong(field+".parameterValues", "the Component requires a value for the parameter %q", p.Name)
			}
			continue
		}
		for i, text := range p.FieldPaths {
			at := fmt.Sprintf("spec.parameters[%s].fieldPaths[%d] of the Component", p.Name, i)
			path, err := writablePath(at, text)
			if err != nil {
				return nil, err
			}
			if content, err = path.SetWithin(content, plain(value), budget); err != nil {
				return nil, wrong(at, "%s", err)
			}
		}
	}
	return content, nil
}

// plain returns a value as JSON has it.
func plain(v intstr.IntOrString) any {
	if v.Type == intstr.Int {
		return int64(v.IntVal)
	}
	return v.StrVal
}
