package kit

import (
	"encoding/json"
	"fmt"
)

// Field is one attribute of a resource, as the spec wants it.
type Field struct {
	Name string
	// Want is its value; nil is null.
	Want any
	// given says that the spec has it, so that it is sent with POST.
	given bool
	// fixed says that it can't be changed.
	fixed bool
	// free says that it may be whatever it is.
	free bool
	// how it is compared.
	how match
	// opaque says that it can't be compared with what was sent.
	opaque bool
}

// Always is a field that every resource has.
func Always(name string, value any) Field { return Field{Name: name, Want: value, given: true} }

// Default is a field that has a default where the spec says nothing.
func Default[T any](name string, value *T, otherwise T) Field {
	if value == nil {
		return Field{Name: name, Want: otherwise}
	}
	return Field{Name: name, Want: *value, given: true}
}

// Keep is a field that stays as it is where the spec says nothing.
func Keep[T any](name string, value *T) Field {
	if value == nil {
		return Field{Name: name, free: true}
	}
	return Field{Name: name, Want: *value, given: true}
}

// Fixed is a field that can't be changed.
func Fixed[T any](name string, value *T) Field {
	f := Keep(name, value)
	f.fixed = true
	return f
}

// FixedList is a list that can't be changed.
func FixedList[T any](name string, values []T) Field {
	f := List(name, values)
	f.fixed = true
	return f
}

// FixedSet is a set that can't be changed.
func FixedSet[T any](name string, values []T) Field {
	f := Set(name, values)
	f.fixed = true
	return f
}

// List is a field with values in an order. Without any it is empty.
func List[T any](name string, values []T) Field {
	return Field{Name: name, Want: append([]T{}, values...), given: len(values) > 0}
}

// Set is a field with values in no order.
func Set[T any](name string, values []T) Field {
	f := List(name, values)
	f.how.set = true
	return f
}

// differs reports whether a resource is not as the spec wants it.
func (f Field) differs(r *Resource) bool {
	if f.fixed || f.free {
		return false
	}
	return !f.matches(r)
}

// drifted reports whether a resource tells of a field that can't be changed, and is
// not as the spec wants it. What a reference stood for is not known any more once it is
// needed no longer.
func (f Field) drifted(r *Resource) bool {
	_, told := r.Fields[f.Name] // Not all that is sent is ever shown.
	return f.fixed && f.given && f.Want != "" && told && !f.opaque && !f.matches(r)
}

// matches compares as JSON does. What OpenStack adds to an object, such as the
// hardware address of a pair, does not count.
func (f Field) matches(r *Resource) bool {
	return f.how.covers(normal(r.Fields[f.Name]), normal(f.Want)) // Numbers are read as json.Number.
}

// normal returns a value as it would be read from JSON.
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

// Resource is what OpenStack says of a resource.
type Resource struct {
	Fields map[string]any
}

// Decode reads the resource into a struct with JSON tags.
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

// String returns a field that is a text; empty when it is not.
func (r *Resource) String(name string) string {
	text, _ := r.Fields[name].(string)
	return text
}

// Map returns a field that is an object; nil when it is not.
func (r *Resource) Map(name string) map[string]any {
	object, _ := r.Fields[name].(map[string]any)
	return object
}

// Strings returns a field that is a list of texts.
func (r *Resource) Strings(name string) []string {
	list, _ := r.Fields[name].([]any)
	texts := make([]string, 0, len(list))
	for _, item := range list {
		if text, ok := item.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Given returns the field as one that is sent even where the spec says nothing.
func (f Field) Given() Field {
	f.given = true
	return f
}

// Addresses returns the field as one that is made of addresses, prefixes or hardware
// addresses, which are the same however they are spelled.
func (f Field) Addresses() Field {
	f.how.addresses = true
	return f
}

// Opaque returns the field as one that OpenStack tells otherwise than it takes it, in
// its own spelling or with more of its own, or of which a difference tells nothing.
func (f Field) Opaque() Field {
	f.opaque = true
	return f
}

// Later returns the field as one that is not sent with POST.
func (f Field) Later() Field {
	f.given = false
	return f
}
