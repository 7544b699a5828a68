package emulator

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
)

// object is one resource in the form that an administrator sees. Keys that begin with an
// underscore, such as _image, are internal and never part of an answer.
type object map[string]any

func (o object) str(key string) string {
	text, _ := o[key].(string)
	return text
}

func (o object) flag(key string) bool {
	value, _ := o[key].(bool)
	return value
}

func (o object) num(key string) int {
	switch value := o[key].(type) {
	case int:
		return value
	case int64:
		return int(value)
	case float64:
		return int(value)
	default:
		return 0
	}
}

func (o object) list(key string) []any {
	list, _ := o[key].([]any)
	return list
}

func (o object) id() string { return o.str("id") }

// objects returns the elements of a list that are JSON objects, such as those of fixed_ips.
func (o object) objects(key string) []object {
	found := make([]object, 0, len(o.list(key)))
	for _, element := range o.list(key) {
		found = append(found, asObject(element))
	}
	return found
}

func (o object) strings(key string) []string {
	var found []string
	for _, element := range o.list(key) {
		if text, ok := element.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

func asObject(value any) object {
	switch typed := value.(type) {
	case object:
		return typed
	case map[string]any:
		return typed
	default:
		return nil
	}
}

func anys[T any](values ...T) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}

// table holds the objects of one kind in the order of their creation.
type table struct {
	rows map[string]object
	ids  []string
}

// store is all tables by the name of their resource, as in network/ports.
type store map[string]*table

func (s store) table(name string) *table {
	t, ok := s[name]
	if !ok {
		t = &table{rows: map[string]object{}}
		s[name] = t
	}
	return t
}

func (s store) get(name, id string) object { return s.table(name).rows[id] }

func (s store) put(name string, o object) {
	t := s.table(name)
	if _, ok := t.rows[o.id()]; !ok {
		t.ids = append(t.ids, o.id())
	}
	t.rows[o.id()] = o
}

func (s store) remove(name, id string) {
	t := s.table(name)
	if _, ok := t.rows[id]; !ok {
		return
	}
	delete(t.rows, id)
	t.ids = slices.DeleteFunc(t.ids, func(other string) bool { return other == id })
}

// where returns the objects of a table, such as network/ports, for which match returns true.
func (s store) where(name string, match func(object) bool) []object {
	t := s.table(name)
	var found []object
	for _, id := range t.ids {
		if o := t.rows[id]; match == nil || match(o) {
			found = append(found, o)
		}
	}
	return found
}

// by returns the objects of a table with a value of an attribute, such as the ports with a
// network_id.
func (s store) by(name, key, value string) []object {
	return s.where(name, func(o object) bool { return o.str(key) == value })
}

func (s store) names() []string { return sortedKeys(s) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func randomHex(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // rand.Read never returns an error: crypto/rand ends the program instead.
	return hex.EncodeToString(raw)
}
