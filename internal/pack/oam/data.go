package oam

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/graph"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// output is a DataOutput with the object that has the value.
type output struct {
	source *unstructured.Unstructured
	oamv1alpha2.DataOutput
}

// exchange passes values between the objects of an application.
type exchange struct {
	outputs map[string]output
	// content is the ApplicationConfiguration, which conditions compare with.
	content map[string]any
	// live returns an object of the application as the cluster has it, or nil. stored returns an object
	// of any owner.
	live, stored func(*unstructured.Unstructured) *unstructured.Unstructured
	budget       *relation.Budget
}

// end is an object of an application that gives or takes values.
type end struct {
	object  *unstructured.Unstructured
	field   string // of the application
	authors []authorise.Author
	outputs []oamv1alpha2.DataOutput
	inputs  []oamv1alpha2.DataInput
}

// endsOf returns the workloads and traits with data outputs or inputs.
func endsOf(ac *oamv1alpha2.ApplicationConfiguration, app application) []end {
	var all []end
	for i, p := range app.parts {
		c, field := &ac.Spec.Components[i], fmt.Sprintf("spec.components[%d]", i)
		all = append(all, end{p.workload, field, p.authors, c.DataOutputs, c.DataInputs})
		for j, t := range p.traits {
			at := fmt.Sprintf("%s.traits[%d]", field, j)
			all = append(all, end{t.object, at, p.authors, c.Traits[j].DataOutputs, c.Traits[j].DataInputs})
		}
	}
	return slices.DeleteFunc(all, func(e end) bool { return len(e.outputs)+len(e.inputs) == 0 })
}

// outputsOf returns the outputs of an application by name. An error is a *fieldError.
func outputsOf(ends []end) (map[string]output, error) {
	all := map[string]output{}
	for _, e := range ends {
		for i, o := range e.outputs {
			if o.Name == "" {
				continue // An output for a store alone.
			}
			if _, twice := all[o.Name]; twice {
				return nil, wrong(fmt.Sprintf("%s.dataOutputs[%d].name", e.field, i),
					"another dataOutput is called %s too", o.Name)
			}
			all[o.Name] = output{e.object, o}
		}
	}
	return all, nil
}

// checkOrder refuses an application whose objects wait for values of each other, or of themselves.
func (x exchange) checkOrder(ends []end) error {
	waits := graph.New(object.Compare)
	for _, e := range ends {
		of, namespace := object.Of(e.object, e.object.GroupVersionKind().GroupKind()), e.object.GetNamespace()
		for _, o := range e.outputs {
			if o.OutputStore.Kind != "" {
				waits.AddEdge(idOf(o.OutputStore.TypedReference, namespace), of)
			}
		}
		for _, input := range e.inputs {
			if input.InputStore.Kind != "" {
				waits.AddEdge(of, idOf(input.InputStore.TypedReference, namespace))
			}
			if from, known := x.outputs[input.ValueFrom.DataOutputName]; known {
				waits.AddEdge(of, object.Of(from.source, from.source.GroupVersionKind().GroupKind()))
			}
		}
	}
	if _, err := waits.Order(); err != nil {
		return wrong("spec.components[*].dataInputs", "the objects wait for each other's values: %s", err)
	}
	return nil
}

// fill writes the values of inputs into an object. unsatisfied are the inputs whose values are not
// there yet: the object is not applied before. An error is a *fieldError.
func (x exchange) fill(
	into *unstructured.Unstructured, inputs []oamv1alpha2.DataInput, field string,
) (unsatisfied []oamv1alpha2.UnsatisfiedDependency, err error) {
	for i, input := range inputs {
		at := fmt.Sprintf("%s.dataInputs[%d]", field, i)
		name := input.ValueFrom.DataOutputName
		if from := input.InputStore; from.Kind != "" {
			reason, err := x.fillFromStore(into, from, at+".inputStore")
			if err != nil {
				return nil, err
			}
			if reason != "" {
				unsatisfied = append(unsatisfied, oamv1alpha2.UnsatisfiedDependency{
					Reason: reason, From: oamv1alpha2.DependencyFromObject{TypedReference: from.TypedReference},
					To: oamv1alpha2.DependencyToObject{TypedReference: referenceTo(into)},
				})
			}
			if name == "" {
				continue
			}
		}
		from, known := x.outputs[name]
		if !known {
			return nil, wrong(at+".valueFrom.dataOutputName", "there is no dataOutput %q", name)
		}
		value, reason, err := x.value(from, at)
		if err != nil {
			return nil, err
		}
		if reason == "" {
			reason, err = x.sinkReady(into, input, at)
		}
		if err != nil {
			return nil, err
		}
		if reason != "" {
			unsatisfied = append(unsatisfied, oamv1alpha2.UnsatisfiedDependency{
				Reason: reason,
				From: oamv1alpha2.DependencyFromObject{
					TypedReference: referenceTo(from.source), FieldPath: from.FieldPath,
				},
				To: oamv1alpha2.DependencyToObject{TypedReference: referenceTo(into), FieldPaths: input.ToFieldPaths},
			})
			continue
		}
		for j, text := range input.ToFieldPaths {
			if err := x.write(into, fmt.Sprintf("%s.toFieldPaths[%d]", at, j), text, value); err != nil {
				return nil, err
			}
		}
	}
	return unsatisfied, nil
}

// value returns the value of an output. reason says why the value can't be used yet.
func (x exchange) value(from output, field string) (value any, reason string, err error) {
	source := x.live(from.source)
	if source == nil {
		return nil, fmt.Sprintf("%s %s does not exist", from.source.GetKind(), from.source.GetName()), nil
	}
	value, found, err := one(source.Object, from.FieldPath, field)
	if err != nil {
		return nil, "", err
	}
	if !found {
		return nil, from.FieldPath + " not found in object", nil
	}
	if value == "" && len(from.Conditions) == 0 {
		return nil, from.FieldPath + " is empty", nil
	}
	reason, err = x.check(from.Conditions, source.Object, value, field)
	return value, reason, err
}

// sinkReady checks the conditions of an input, which are about the object that gets the value. An
// object that does not exist meets all of them.
func (x exchange) sinkReady(
	into *unstructured.Unstructured, input oamv1alpha2.DataInput, field string,
) (string, error) {
	sink := x.live(into)
	if sink == nil || len(input.Conditions) == 0 {
		return "", nil
	}
	return x.check(input.Conditions, sink.Object, nil, field)
}

// check returns why a condition does not hold, or "".
func (x exchange) check(
	conditions []oamv1alpha2.ConditionRequirement, content map[string]any, value any, field string,
) (string, error) {
	for i, c := range conditions {
		at := fmt.Sprintf("%s, condition %d", field, i)
		got := value
		if c.FieldPath != "" {
			var found bool
			var err error
			if got, found, err = one(content, c.FieldPath, at); err != nil {
				return "", err
			} else if !found {
				return c.FieldPath + " not found in object", nil
			}
		}
		want := any(c.Value)
		if from := c.ValueFrom.FieldPath; from != "" {
			var found bool
			var err error
			if want, found, err = one(x.content, from, at); err != nil {
				return "", err
			} else if !found {
				return from + " not found in the ApplicationConfiguration", nil
			}
		}
		switch c.Operator {
		case oamv1alpha2.ConditionEqual:
			if !equal(got, want) {
				return fmt.Sprintf("got(%s) expected to be %s", shortened(got), shortened(want)), nil
			}
		case oamv1alpha2.ConditionNotEqual:
			if equal(got, want) {
				return fmt.Sprintf("got(%s) expected not to be %s", shortened(got), shortened(want)), nil
			}
		case oamv1alpha2.ConditionNotEmpty:
			if isEmpty(got) {
				return "value should not be empty", nil
			}
		default:
			return "", wrong(at, "there is no operator %q: use eq, notEq or notEmpty", c.Operator)
		}
	}
	return "", nil
}

// maxShown is how many bytes of a value a message shows.
const maxShown = 256

// shortened returns a value as a message shows it.
func shortened(v any) string {
	text := textOf(v)
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "..."
}

// one returns the value at a path that leads to one field.
func one(content map[string]any, text, field string) (value any, found bool, err error) {
	path, err := relation.ParsePath(text)
	if err != nil {
		return nil, false, wrong(field, "%s", err)
	}
	values := path.Values(content)
	if len(values) != 1 {
		return nil, false, nil
	}
	return values[0].Value, true, nil
}

// equal compares a value with another one, or with the text of a condition: "1" equals the number 1,
// and "true" the boolean.
func equal(got, want any) bool {
	if text, ok := want.(string); ok {
		return textOf(got) == text
	}
	return textOf(got) == textOf(want) && reflect.TypeOf(got) == reflect.TypeOf(want) && isScalar(got) ||
		reflect.DeepEqual(got, want)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	default:
		return true
	}
}

// textOf returns a scalar as a condition writes it.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

// dataPath is writablePath for the values of data inputs. A value can't name an object: the names are
// compared, and traits are bound, before values are read.
func dataPath(field, text string) (relation.Path, error) {
	path, err := writablePath(field, text)
	if root := path.Root(); err == nil && len(root) > 1 && root[0] == "metadata" && root[1] == "name" {
		return path, wrong(field, "metadata.name can't be set by a data input: use a parameter")
	}
	return path, err
}

// write writes a value into an object, at a path that a user wrote. A list is appended to a list. A
// value of another type than the present one is an error.
func (x exchange) write(into *unstructured.Unstructured, field, text string, value any) error {
	path, err := dataPath(field, text)
	if err != nil {
		return err
	}
	if present := path.Values(into.Object); len(present) == 1 {
		before := present[0].Value
		have, isList := before.([]any)
		more, listed := value.([]any)
		switch {
		case isList && listed:
			value = slices.Concat(have, more)
		case isList:
			value = append(slices.Clone(have), value)
		case isScalar(before) != isScalar(value) || listed:
			return wrong(field, "%s is %s, and the value is %s", text, relation.TypeOf(before), relation.TypeOf(value))
		}
	}
	content, err := path.SetWithin(into.Object, value, x.budget)
	if err != nil {
		return wrong(field, "%s", err)
	}
	into.Object = content
	return nil
}

func referenceTo(obj *unstructured.Unstructured) oamv1alpha2.TypedReference {
	return oamv1alpha2.TypedReference{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()}
}
