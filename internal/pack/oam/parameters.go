package oam

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// pathBudget bounds the values that all paths of one application set, in elements and bytes. The
// values of an application of 256 components are far smaller.
const pathBudget = 4 << 20

// setParameters returns the content of a workload with the parameterValues of an
// ApplicationConfiguration.
func setParameters(
	content map[string]any, parameters []oamv1alpha2.ComponentParameter,
	values []oamv1alpha2.ComponentParameterValue, field string, budget *relation.Budget,
) (map[string]any, error) {
	given := map[string]intstr.IntOrString{}
	for i, v := range values {
		known := slices.ContainsFunc(parameters, func(p oamv1alpha2.ComponentParameter) bool { return p.Name == v.Name })
		if !known {
			at := fmt.Sprintf("%s.parameterValues[%d]", field, i)
			return nil, relation.Wrong(at, "the Component has no parameter %q", v.Name)
		}
		given[v.Name] = v.Value
	}
	for _, p := range parameters {
		value, ok := given[p.Name]
		if !ok {
			if p.Required != nil && *p.Required {
				return nil, relation.Wrong(field+".parameterValues", "the Component requires a value for the parameter %q", p.Name)
			}
			continue
		}
		for i, text := range p.FieldPaths {
			at := fmt.Sprintf("spec.parameters[%s].fieldPaths[%d] of the Component", p.Name, i)
			var err error
			if content, err = dataflow.Set(content, at, text, plain(value), budget); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}

// plain returns an IntOrString as JSON has it.
func plain(v intstr.IntOrString) any {
	if v.Type == intstr.Int {
		return int64(v.IntVal)
	}
	return v.StrVal
}
