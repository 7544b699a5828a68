package watch

import "reflect"

// Bytes that Go needs beside the content, on a 64-bit machine: for an allocation of its own, such as a text, and for an
// entry of a map.
const (
	perAllocation = 16
	perEntry      = 16
)

// Footprint estimates the bytes of memory that an object takes: what Go allocates for its structs, texts, lists and
// maps. Texts that several objects share count for each object. Managed fields count too.
func Footprint(obj any) int {
	if content, ok := obj.(map[string]any); ok {
		return contentBytes(content)
	}
	v := reflect.ValueOf(obj)
	if !v.IsValid() {
		return 0
	}
	return int(v.Type().Size()) + reachable(v)
}

// contentBytes is reachable for the values of unstructured.Unstructured.Object, which need no reflection.
func contentBytes(value any) int {
	const perInterface = 16
	switch value := value.(type) {
	case string:
		return perAllocation + perInterface + len(value)
	case map[string]any:
		n := perAllocation + perInterface
		for key, item := range value {
			n += perEntry + perInterface + len(key) + contentBytes(item)
		}
		return n
	case []any:
		n := perAllocation + perInterface
		for _, item := range value {
			n += contentBytes(item)
		}
		return n
	default: // A number, a bool, or nil.
		return perInterface + 8
	}
}

// reachable returns the bytes that a value refers to, without the value itself.
func reachable(v reflect.Value) int {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return perAllocation + int(v.Type().Elem().Size()) + reachable(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		if content, ok := reflect.TypeAssert[map[string]any](v); ok {
			return contentBytes(content)
		}
		return perAllocation + int(v.Elem().Type().Size()) + reachable(v.Elem())
	case reflect.Struct:
		n := 0
		for field, value := range v.Fields() {
			if field.IsExported() { // Others, such as the time zone of a time.Time, are shared.
				n += reachable(value)
			}
		}
		return n
	case reflect.Slice:
		return elements(v)
	case reflect.Map:
		return entries(v)
	default: // Numbers and bools refer to nothing. Objects of the API have no channels, functions and arrays of texts.
		return 0
	}
}

// elements returns the bytes of the elements of a slice, and what they refer to.
func elements(v reflect.Value) int {
	n := v.Cap() * int(v.Type().Elem().Size())
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return n
	}
	for i := range v.Len() {
		n += reachable(v.Index(i))
	}
	return n
}

// entries returns the bytes of the entries of a map, and what they refer to.
func entries(v reflect.Value) int {
	if content, ok := reflect.TypeAssert[map[string]any](v); ok {
		return contentBytes(content)
	}
	n := perAllocation
	each := perEntry + int(v.Type().Key().Size()+v.Type().Elem().Size())
	for i := v.MapRange(); i.Next(); {
		n += each + reachable(i.Key()) + reachable(i.Value())
	}
	return n
}
