package dataflow

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Operators of an [Operation], as in JSON Patch (RFC 6902).
const (
	Add     = "add"
	Replace = "replace"
	Delete  = "delete"
)

// Operation changes one field of an object, with a value of another object.
type Operation struct {
	// Field is the field in which the user wrote the Operation, for errors.
	Field string
	// Operator is [Add], [Replace] or [Delete].
	Operator string
	// ToFieldPath is the path of the field.
	ToFieldPath string
	// ToDataPath, if set, is a path in the JSON that the field holds as text.
	ToDataPath string
	// Value is the value as JSON. ValueFrom, if set, is the path of the value in the other object,
	// and replaces Value.
	Value, ValueFrom string
	// Conditions must hold for the other object.
	Conditions []Condition
}

// makeStores returns the object of each Output.Store, and the values that a store lacks.
func (r run) makeStores() (stores []*unstructured.Unstructured, missing []Missing, err error) {
	made := map[object.ID]*unstructured.Unstructured{}
	for _, n := range r.Nodes {
		for _, o := range n.Outputs {
			if o.Store == nil {
				continue
			}
			store := o.Store.in(n.Object.GetNamespace())
			id := idOf(store)
			if made[id] == nil { // Several outputs may fill one store.
				made[id] = store
				stores = append(stores, store)
			}
			reason, err := r.fillStore(made[id], n.Object, o)
			if err != nil {
				return nil, nil, err
			}
			if reason != "" {
				missing = append(missing, Missing{Reason: reason, From: n.Object, To: made[id]})
			}
		}
	}
	return stores, missing, nil
}

// fillStore writes the values of an [Output] into its store. The result reason says why the store
// can't be written yet.
func (r run) fillStore(store, source *unstructured.Unstructured, o Output) (reason string, err error) {
	live, reason, err := r.live(source)
	if live == nil {
		return reason, err
	}
	if reason, err = r.check(o.Conditions, live.Object, nil, o.Field); reason != "" || err != nil {
		return reason, err
	}
	return r.operate(store, live.Object, o.Store.Operations)
}

// fillFromStore writes values of Input.Store into an object. The result reason says which value is
// missing.
func (r run) fillFromStore(into *unstructured.Unstructured, input Input) (reason string, err error) {
	live, reason, err := r.any(input.Store.in(into.GetNamespace()))
	if live == nil {
		return reason, err
	}
	return r.operate(into, live.Object, input.Store.Operations)
}

// operate applies operations to an object in order, with values of another object. If an operation
// lacks a value, operate returns the reason, and the object has only the changes of the earlier
// operations.
func (r run) operate(
	into *unstructured.Unstructured, from map[string]any, operations []Operation,
) (reason string, err error) {
	for _, o := range operations {
		if reason, err = r.check(o.Conditions, from, nil, o.Field); reason != "" || err != nil {
			return reason, err
		}
		path, err := parseUnnamed(o.Field+".toFieldPath", o.ToFieldPath)
		if err != nil {
			return "", err
		}
		value, reason, err := o.value(from)
		if reason != "" || err != nil {
			return reason, err
		}
		content, err := r.editField(into.Object, path, o, value)
		if err != nil {
			return "", err
		}
		into.Object = content
	}
	return "", nil
}

// value returns the value of an [Operation]: the value at ValueFrom in the other object, or the
// JSON in Value.
func (o Operation) value(from map[string]any) (value any, reason string, err error) {
	switch {
	case o.Operator == Delete:
		return nil, "", nil
	case o.ValueFrom == "":
		if err := json.Unmarshal([]byte(o.Value), &value); err != nil {
			return nil, "", relation.Wrong(o.Field+".value", "%q is no JSON: quote a text, as in '\"text\"'", o.Value)
		}
		return value, "", nil
	}
	value, found, err := one(from, o.ValueFrom, o.Field+".valueFrom")
	if err == nil && !found {
		reason = o.ValueFrom + " not found in object"
	}
	return value, reason, err
}

// editField returns the content after one [Operation].
func (r run) editField(content map[string]any, path relation.Path, o Operation, value any) (map[string]any, error) {
	if o.ToDataPath == "" {
		return r.edit(content, path, o.Operator, value, o.Field)
	}
	field := o.Field + ".toDataPath"
	inner, err := relation.ParsePath(o.ToDataPath)
	if err != nil {
		return nil, relation.Wrong(field, "%s", err)
	}
	data := map[string]any{}
	if present := path.Values(content); len(present) == 1 {
		text, _ := present[0].Value.(string)
		if err := json.Unmarshal([]byte(text), &data); err != nil {
			return nil, relation.Wrong(field, "%s holds no JSON object as text", o.ToFieldPath)
		}
	} else if o.Operator == Delete {
		return content, nil // The field is missing, and a deletion must not create the field.
	}
	if data, err = r.edit(data, inner, o.Operator, value, o.Field); err != nil {
		return nil, err
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, relation.Wrong(field, "%s", err)
	}
	return r.edit(content, path, Replace, string(text), o.Field)
}

// edit sets or removes one field.
func (r run) edit(
	content map[string]any, path relation.Path, operator string, value any, field string,
) (map[string]any, error) {
	var after map[string]any
	var err error
	switch operator {
	case Add, Replace:
		after, err = path.SetWithin(content, value, r.Budget)
	case Delete:
		after, err = path.Remove(content, r.Budget)
	default:
		return nil, relation.Wrong(field+".op", "there is no operator %q: use add, replace or delete", operator)
	}
	if err != nil {
		return nil, relation.Wrong(field, "%s", err)
	}
	return after, nil
}
