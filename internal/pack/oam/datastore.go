package oam

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Operations on an object, as in JSON Patch (RFC 6902).
const (
	jsonPatch        = "jsonPatch"
	operationAdd     = "add"
	operationReplace = "replace"
	operationDelete  = "delete"
)

// storesOf returns the stores of data outputs, such as ConfigMaps, as the operations make them, and the
// reasons why a store can't be written yet. An error is a *fieldError.
func (x exchange) storesOf(
	ends []end,
) (stores []*unstructured.Unstructured, unsatisfied []oamv1alpha2.UnsatisfiedDependency, err error) {
	made := map[object.ID]*unstructured.Unstructured{}
	for _, e := range ends {
		for i, o := range e.outputs {
			ref := o.OutputStore.TypedReference
			if ref.Kind == "" {
				continue
			}
			id := idOf(ref, e.object.GetNamespace())
			if made[id] == nil { // Several outputs may fill one store.
				made[id] = newStore(ref, id.Namespace)
				stores = append(stores, made[id])
			}
			reason, err := x.fillStore(made[id], e.object, o, fmt.Sprintf("%s.dataOutputs[%d].outputStore", e.field, i))
			if err != nil {
				return nil, nil, err
			}
			if reason == "" {
				continue
			}
			unsatisfied = append(unsatisfied, oamv1alpha2.UnsatisfiedDependency{
				Reason: reason, From: oamv1alpha2.DependencyFromObject{TypedReference: referenceTo(e.object)},
				To: oamv1alpha2.DependencyToObject{TypedReference: ref},
			})
		}
	}
	return stores, unsatisfied, nil
}

// newStore returns an object without content.
func newStore(ref oamv1alpha2.TypedReference, namespace string) *unstructured.Unstructured {
	store := &unstructured.Unstructured{Object: map[string]any{}}
	store.SetAPIVersion(ref.APIVersion)
	store.SetKind(ref.Kind)
	store.SetName(ref.Name)
	store.SetNamespace(namespace)
	return store
}

// fillStore writes the values of an output into its store. reason says why the store can't be written yet.
func (x exchange) fillStore(
	store, source *unstructured.Unstructured, o oamv1alpha2.DataOutput, field string,
) (reason string, err error) {
	live := x.live(source)
	if live == nil {
		return fmt.Sprintf("%s %s does not exist", source.GetKind(), source.GetName()), nil
	}
	if reason, err = x.check(o.Conditions, live.Object, nil, field); reason != "" || err != nil {
		return reason, err
	}
	return x.operate(store, live.Object, o.OutputStore.Operations, field)
}

// fillFromStore writes values of a store into an object. reason says why they are not there yet.
func (x exchange) fillFromStore(
	into *unstructured.Unstructured, from oamv1alpha2.StoreReference, field string,
) (reason string, err error) {
	live := x.stored(newStore(from.TypedReference, into.GetNamespace()))
	if live == nil {
		return fmt.Sprintf("%s %s does not exist", from.Kind, from.Name), nil
	}
	return x.operate(into, live.Object, from.Operations, field)
}

// operate changes an object by operations, in their order, with values of another object. reason says
// why an operation can't be done yet; then the object is half changed.
func (x exchange) operate(
	into *unstructured.Unstructured, from map[string]any, operations []oamv1alpha2.DataOperation, field string,
) (reason string, err error) {
	for i, o := range operations {
		at := fmt.Sprintf("%s.operations[%d]", field, i)
		if o.Type != jsonPatch {
			return "", wrong(at+".type", "there is no operation %q: use %s", o.Type, jsonPatch)
		}
		if reason, err = x.check(o.Conditions, from, nil, at); reason != "" || err != nil {
			return reason, err
		}
		path, err := dataPath(at+".toFieldPath", o.ToFieldPath)
		if err != nil {
			return "", err
		}
		value, reason, err := valueOf(o, from, at)
		if reason != "" || err != nil {
			return reason, err
		}
		content, err := x.editField(into.Object, path, o, value, at)
		if err != nil {
			return "", err
		}
		into.Object = content
	}
	return "", nil
}

// valueOf returns the value of an operation: of the other object, or the JSON of its field value.
func valueOf(o oamv1alpha2.DataOperation, from map[string]any, field string) (value any, reason string, err error) {
	switch {
	case o.Operator == operationDelete:
		return nil, "", nil
	case o.ValueFrom.FieldPath == "":
		if err := json.Unmarshal([]byte(o.Value), &value); err != nil {
			return nil, "", wrong(field+".value", "%q is no JSON: quote a text, as in '\"text\"'", o.Value)
		}
		return value, "", nil
	}
	value, found, err := one(from, o.ValueFrom.FieldPath, field+".valueFrom.fieldPath")
	if err == nil && !found {
		reason = o.ValueFrom.FieldPath + " not found in object"
	}
	return value, reason, err
}

// editField returns the content after one operation. With toDataPath the field holds JSON as text, and the
// operation changes a field in that JSON.
func (x exchange) editField(
	content map[string]any, path relation.Path, o oamv1alpha2.DataOperation, value any, field string,
) (map[string]any, error) {
	if o.ToDataPath == "" {
		return x.edit(content, path, o.Operator, value, field)
	}
	inner, err := relation.ParsePath(o.ToDataPath)
	if err != nil {
		return nil, wrong(field+".toDataPath", "%s", err)
	}
	data := map[string]any{}
	if present := path.Values(content); len(present) == 1 {
		text, _ := present[0].Value.(string)
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			return nil, wrong(field+".toDataPath", "%s holds no JSON object as text", o.ToFieldPath)
		}
	}
	if data, err = x.edit(data, inner, o.Operator, value, field); err != nil {
		return nil, err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, wrong(field+".toDataPath", "%s", err)
	}
	return x.edit(content, path, operationReplace, string(text), field)
}

// edit sets or removes one field.
func (x exchange) edit(
	content map[string]any, path relation.Path, operator string, value any, field string,
) (map[string]any, error) {
	var after map[string]any
	var err error
	switch operator {
	case operationAdd, operationReplace:
		after, err = path.SetWithin(content, value, x.budget)
	case operationDelete:
		after, err = path.Remove(content, x.budget)
	default:
		return nil, wrong(field+".op", "there is no operator %q: use add, replace or delete", operator)
	}
	if err != nil {
		return nil, wrong(field, "%s", err)
	}
	return after, nil
}
