package kit

import (
	"encoding/json"
	"fmt"
)

// Field is one field of a resource as the spec wants it.
type Field struct {
	Name string
	// Want is the wanted value; nil is null.
	Want any
	// given says that the spec sets the field, so that POST contains it.
	given bool
	// fixed says that the field can't be changed.
	fixed bool
	// free says that any value is right.
	free bool
	// how says how the values are compared.
	how match
	// opaque says that the reported value can't be compared with the sent value.
	opaque bool
}

// Always returns a field that every resource has, such as "name".
func Always(name string, value any) Field { return Field{Name: name, Want: value, given: true} }

// Default returns a field that has the value otherwise if the spec does not set the field.
func Default[T any](name string, value *T, otherwise T) Field {
	if value == nil {
		return Field{Name: name, Want: otherwise}
	}
	return Field{Name: name, Want: *value, given: true}
}

// Keep returns a field that stays as it is if the spec does not set the field.
func Keep[T any](name string, value *T) Field {
	if value == nil {
		return Field{Name: name, free: true}
	}
	return Field{Name: name, Want: *value, given: true}
}

// Fixed returns a field that can't be changed.
func Fixed[T any](name string, value *T) Field { return Keep(name, value).Fixed() }

// List returns a field with an ordered list. Without values, the list is empty.
func List[T any](name string, values []T) Field {
	return Field{Name: name, Want: append([]T{}, values...), given: len(values) > 0}
}

// Set returns a field with a list in any order.
func Set[T any](name string, values []T) Field {
	f := List(name, values)
	f.how.set = true
	return f
}

// differs reports whether a resource must be updated for the field.
func (f Field) differs(r *Resource) bool {
	if f.fixed || f.free {
		return false
	}
	return !f.matches(r)
}

// drifted reports whether a resource shows another value of a field that can't be changed. Want
// is "" if the target of the reference does not exist any more: then the right ID is not known.
func (f Field) drifted(r *Resource) bool {
	_, told := r.Fields[f.Name] // Not every field of POST is in the answer.
	return f.fixed && f.given && f.Want != "" && told && !f.opaque && !f.matches(r)
}

// matches compares the values as JSON. Keys that OpenStack adds to an object, such as
// mac_address of an allowed address pair, do not count.
func (f Field) matches(r *Resource) bool {
	return f.how.covers(normal(r.Fields[f.Name]), normal(f.Want)) // Numbers are decoded as json.Number.
}

// normal returns a value as encoding/json would decode it.
func normal(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		return v
	}
	return read
}

// Resource has the JSON fields of a resource, as OpenStack returned them.
type Resource struct {
	Fields map[string]any
}

// Decode decodes the resource into a struct with JSON tags.
func (r *Resource) Decode(into any) error {
	text, err := json.Marshal(r.Fields)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read what OpenStack says: %w", err)
	}
	return nil
}

// String returns a string field, or "".
func (r *Resource) String(name string) string {
	text, _ := r.Fields[name].(string)
	return text
}

// Map returns an object field, or nil.
func (r *Resource) Map(name string) map[string]any {
	object, _ := r.Fields[name].(map[string]any)
	return object
}

// Given returns a field that POST contains even if the spec does not set it.
func (f Field) Given() Field {
	f.given = true
	return f
}

// Addresses returns a field of IP addresses, prefixes or hardware addresses, which are compared
// by [CanonicalAddress].
func (f Field) Addresses() Field {
	f.how.addresses = true
	return f
}

// Opaque returns a field that is never compared: OpenStack reports another spelling, or adds
// values, or a difference means nothing.
func (f Field) Opaque() Field {
	f.opaque = true
	return f
}

// Fixed returns a field that can't be changed, such as a list.
func (f Field) Fixed() Field {
	f.fixed = true
	return f
}

// Later returns a field that POST does not contain.
func (f Field) Later() Field {
	f.given = false
	return f
}
