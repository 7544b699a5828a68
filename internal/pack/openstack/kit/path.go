package kit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/pkg/external"
)

// namesAt returns a function that reads the names at a path of JSON names, and whether K has
// such a field. If spec.import is not set, a path below spec.import is read below spec.adopt.
func namesAt[K external.Object](path string) (func(external.Object) []string, bool) {
	steps, found := stepsTo(reflect.TypeFor[K](), path)
	if !found {
		return nil, false
	}
	read := func(obj external.Object) []string { return textsBelow(reflect.ValueOf(obj), steps) }
	below, isImport := strings.CutPrefix(path, "spec.import.")
	if !isImport {
		return read, true
	}
	adopt, found := stepsTo(reflect.TypeFor[K](), "spec.adopt."+below)
	return func(obj external.Object) []string {
		if spec := reflect.ValueOf(obj).Elem().FieldByName("Spec"); spec.FieldByName("Import").IsNil() {
			return textsBelow(reflect.ValueOf(obj), adopt)
		}
		return read(obj)
	}, found
}

// stepsTo returns the index of each struct field on a path such as
// "spec.resource.addresses[].subnetRef".
func stepsTo(t reflect.Type, path string) (steps [][]int, found bool) {
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		fields := reflect.VisibleFields(t)
		i := slices.IndexFunc(fields, func(f reflect.StructField) bool {
			return jsonName(f) == strings.TrimSuffix(name, "[]")
		})
		if i < 0 {
			return nil, false
		}
		steps, t = append(steps, fields[i].Index), fields[i].Type
	}
	return steps, true
}

// textsBelow returns the strings that the remaining steps of a path lead to.
func textsBelow(v reflect.Value, steps [][]int) []string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return textsBelow(v.Elem(), steps)
	case reflect.Slice:
		var texts []string
		for i := range v.Len() {
			texts = append(texts, textsBelow(v.Index(i), steps)...)
		}
		return texts
	case reflect.Struct:
		return textsBelow(v.FieldByIndex(steps[0]), steps[1:])
	default:
		return []string{v.String()}
	}
}

// jsonName returns the JSON name of a struct field.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
