package watch

import "reflect"

// Bytes that Go needs on a 64-bit machine: beside the content of an allocation, such as a text, and for an interface.
const (
	perAllocation = 8
	perInterface  = 16
)

// mapBytes returns what Go allocates for a map, without what its keys and values refer to: slots in groups of eight, of
// which seven are used before the map doubles.
func mapBytes(entries, key, value int) int {
	const header, group, used = 48, 8, 7
	slots := group
	for slots/group*used < entries && entries > group {
		slots *= 2
	}
	return header + slots/group*(group*(key+value)+group)
}

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
	switch value := value.(type) {
	case string:
		return perAllocation + perInterface + len(value)
	case map[string]any:
		n := mapBytes(len(value), perInterface, perInterface)
		for key, item := range value {
			n += len(key) + contentBytes(item) // The texts of keys have 16 bytes, as interfaces do.
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
	if v.IsNil() {
		return 0
	}
	n := mapBytes(v.Len(), int(v.Type().Key().Size()), int(v.Type().Elem().Size()))
	for i := v.MapRange(); i.Next(); {
		n += reachable(i.Key()) + reachable(i.Value())
	}
	return n
}
