package catalogue

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// FromARM returns the spec for an ARM body, and what of the body the shape doesn't know. The spec has no
// owner. With SetRest, ToARM gives exactly the body back. The body isn't changed, and the spec shares
// no memory with the body. FromARM leaves out the values at Definition.Sensitive: Azure returns no secrets, and a value
// in the place of a secret is a mask.
func (k *Kind) FromARM(body map[string]any, with Conversion) (spec map[string]any, rest []Rest, err error) {
	definition, err := k.Definition()
	if err != nil {
		return nil, nil, err
	}
	c := converter{Conversion: with}
	name, _ := body["name"].(string)
	if with.Name == "" {
		c.Name = name
	}
	c.self, _ = k.ID(with.Parent, c.Name)
	named := acceptsName(definition.Name, name)
	known := maps.Clone(definition.Strip(body))
	if named {
		delete(known, "name")
	}
	spec = c.objectFromARM(definition.Body, known, "", true)
	if named {
		spec[AzureNameField] = name
	}
	if err := runHooks(k.Type, func(h Hook) error { return call(h.FromARM, spec, body) }); err != nil {
		return nil, nil, fmt.Errorf("converting %s: %w", k.Kind, err)
	}
	return spec, c.rest, nil
}

// leave records a value that the shape doesn't know.
func (c *converter) leave(path string, value any) {
	c.rest = append(c.rest, Rest{Path: path, Value: deepCopy(value)})
}

// fromARM returns the Kubernetes form of an ARM value. path is its place in the body, a JSON pointer. ok is
// false if the value doesn't have the shape. Then nothing inside of the value was left.
func (c *converter) fromARM(s *Shape, value any, path string) (out any, ok bool) {
	before := len(c.rest)
	if out, ok = c.byType(s, value, path); !ok {
		c.rest = c.rest[:before]
	}
	return out, ok
}

func (c *converter) byType(s *Shape, value any, path string) (out any, ok bool) {
	switch s.Type {
	case Any:
		return deepCopy(value), value != nil
	case Object:
		m, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		return c.objectFromARM(s, m, path, false), true
	case Map:
		return c.mapFromARM(s, value, path)
	case List:
		return c.listFromARM(s, value, path)
	case ID:
		return c.idFromARM(s, value)
	case IDObject:
		m, _ := value.(map[string]any)
		reference, ok := c.idFromARM(s, m["id"])
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if ok && key != "id" {
				c.leave(path+"/"+escape(key), m[key])
			}
		}
		return reference, ok
	case IDMap:
		return c.idsFromARM(s, value, path)
	default:
		return value, s.accepts(value)
	}
}

func (c *converter) objectFromARM(s *Shape, m map[string]any, path string, top bool) map[string]any {
	out := map[string]any{}
	nested, flat := s.flattens()
	for _, key := range slices.Sorted(maps.Keys(m)) {
		inner, isObject := m[key].(map[string]any)
		if flat && key == "properties" && isObject && len(inner) > 0 {
			c.propertiesFromARM(s, out, inner, path+"/properties", nested)
			continue
		}
		c.propertyFromARM(s, out, m[key], path+"/"+escape(key), s.findARM(key, false), key, top)
	}
	return out
}

func (c *converter) propertiesFromARM(s *Shape, out, inner map[string]any, path string, nested []Property) {
	for _, key := range slices.Sorted(maps.Keys(inner)) {
		at := slices.IndexFunc(nested, func(p Property) bool { return p.ARM == key })
		if at < 0 {
			c.leave(path+"/"+escape(key), inner[key])
			continue
		}
		c.propertyFromARM(s, out, inner[key], path+"/"+escape(key), &nested[at], key, false)
	}
}

// propertyFromARM sets the property of a value in out, or leaves the value.
func (c *converter) propertyFromARM(s *Shape, out map[string]any, value any, path string, p *Property, key string,
	top bool,
) {
	if p == nil {
		_, flat := s.flattens()
		taken := s.find(key) != nil || flat && key == "properties" || top && IsReserved(key)
		if taken || !s.Open || value == nil {
			c.leave(path, value)
		} else {
			out[key] = deepCopy(value)
		}
		return
	}
	converted, ok := c.fromARM(p.Shape, value, path)
	if !ok {
		c.leave(path, value)
		return
	}
	out[p.Name] = converted
}

func (c *converter) mapFromARM(s *Shape, value any, path string) (any, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		place := path + "/" + escape(key)
		if converted, ok := c.fromARM(s.Items, m[key], place); ok {
			out[key] = converted
		} else {
			c.leave(place, m[key])
		}
	}
	return out, true
}

// listFromARM converts a list whose items all have the shape. Otherwise the places in raw would be wrong.
func (c *converter) listFromARM(s *Shape, value any, path string) (any, bool) {
	list, ok := value.([]any)
	if !ok || int64(len(list)) < s.MinLength || s.MaxLength > 0 && int64(len(list)) > s.MaxLength {
		return nil, false
	}
	out := make([]any, len(list))
	for i, item := range list {
		if out[i], ok = c.fromARM(s.Items, item, path+"/"+strconv.Itoa(i)); !ok {
			return nil, false
		}
	}
	return out, true
}

func (c *converter) idsFromARM(s *Shape, value any, path string) (any, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make([]any, 0, len(m))
	for _, id := range slices.Sorted(maps.Keys(m)) {
		reference, ok := c.idFromARM(s, id)
		if !ok {
			c.leave(path+"/"+escape(id), m[id])
			continue
		}
		entry := map[string]any{"ref": reference}
		inner, ok := c.fromARM(s.Items, m[id], path+"/"+escape(id))
		values, isObject := inner.(map[string]any)
		switch {
		case !ok:
			c.leave(path+"/"+escape(id), m[id])
		case !isObject || len(values) > 0: // without a value, ToARM sets an empty object
			entry["value"] = inner
		}
		out = append(out, entry)
	}
	return out, true
}

func (c *converter) idFromARM(s *Shape, value any) (any, bool) {
	id, ok := value.(string)
	if !ok {
		return nil, false
	}
	if part, ok := strings.CutPrefix(id, c.self+"/"); ok && c.self != "" && part != "" {
		return Reference{Self: part}.toMap(), true
	}
	azure, ok := ReferenceTo(id)
	ok = ok && (c.Allows == nil || c.Allows(id, s.Targets))
	return Reference{Azure: &azure}.toMap(), ok
}

// flattens returns the properties that are in "properties" of the ARM object.
func (s *Shape) flattens() (nested []Property, flat bool) {
	for _, p := range s.Properties {
		if p.Nested {
			nested = append(nested, p)
		}
	}
	return nested, len(nested) > 0
}

func (s *Shape) findARM(name string, nested bool) *Property {
	for i := range s.Properties {
		if s.Properties[i].ARM == name && s.Properties[i].Nested == nested {
			return &s.Properties[i]
		}
	}
	return nil
}

// accepts tells whether the CRD accepts a scalar.
func (s *Shape) accepts(value any) bool {
	switch v := value.(type) {
	case string:
		return s.Type == IntOrString || s.Type == String && s.acceptsString(v)
	case bool:
		return s.Type == Boolean
	case int64:
		return s.Type == IntOrString && v == int64(int32(v)) || s.inBounds(float64(v))
	case float64:
		return (s.Type == Number || v == math.Trunc(v) && math.Abs(v) < 1<<53) && s.inBounds(v)
	default:
		return false
	}
}

func (s *Shape) acceptsString(v string) bool {
	length := int64(utf8.RuneCountInString(v))
	return length >= s.MinLength && (s.MaxLength == 0 || length <= s.MaxLength) &&
		(len(s.Enum) == 0 || s.Open || slices.Contains(s.Enum, v)) && (s.Pattern == "" || compile(s.Pattern).MatchString(v))
}

// acceptsName tells whether the CRD accepts an azureName.
func acceptsName(s *Shape, name string) bool {
	return len(name) <= maxNameText && compile(namePattern).MatchString(name) &&
		(len(s.Enum) == 0 || slices.Contains(s.Enum, name))
}

func (s *Shape) inBounds(v float64) bool {
	return (s.Type == Integer || s.Type == Number) && (s.Minimum == nil || v >= *s.Minimum) &&
		(s.Maximum == nil || v <= *s.Maximum)
}

var patterns sync.Map // from the pattern to its *regexp.Regexp

// matchesNothing stands for a pattern that package regexp can't read.
var matchesNothing = regexp.MustCompile(`$^x`)

func compile(pattern string) *regexp.Regexp {
	known, _ := patterns.Load(pattern)
	if r, ok := known.(*regexp.Regexp); ok {
		return r
	}
	r, err := regexp.Compile(pattern)
	if err != nil {
		r = matchesNothing
	}
	patterns.Store(pattern, r)
	return r
}

func deepCopy(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = deepCopy(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = deepCopy(inner)
		}
		return out
	default:
		return value
	}
}
