package relation

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Bounds of a [Path]: a user may write a Path in a [Relation], so its size is limited.
const (
	maxPathLength = 512
	maxPathSteps  = 32
	maxPathIndex  = 10_000
	// maxPathValues limits the values that [Path.Values] returns for one object. An object of
	// the largest size that the API server stores (about 3 MB) can hold more.
	maxPathValues = 10_000
)

// Path leads from the root of an object to the values of a field, such as
// "spec.volumes[*].secret.secretName". "[*]" stands for every element of a list, "[3]" for one
// element, and "['a.b/c']" for a key with characters that pathName does not allow. The zero
// value leads to no field.
type Path struct {
	text  string
	steps []pathStep
}

// pathStep is one step of a [Path]: into a field, or into a list.
type pathStep struct {
	field string
	list  bool
	index int // of the element; -1 means every one
}

// Value is the value that a [Path] leads to in one object.
type Value struct {
	// Field is the path with the index of the element in place of each "[*]", such as
	// "spec.volumes[0].secret.secretName".
	Field string
	// Value is a string, bool, int64, float64, map[string]any or []any.
	Value any
	// Holder is the object with the last field of the path. [Reference] reads fields beside the
	// last field from Holder: a namespace beside a name, for example.
	Holder map[string]any
}

var (
	pathName    = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*`)
	pathElement = regexp.MustCompile(`^\[(\*|[0-9]+)\]`)
	pathKey     = regexp.MustCompile(`^\['([^']+)'\]`)
)

// ParsePath reads a path. The error names the path and the part that ParsePath cannot read.
func ParsePath(text string) (Path, error) {
	if len(text) > maxPathLength {
		return Path{}, fmt.Errorf("path %.40q... is longer than %d bytes", text, maxPathLength)
	}
	p := Path{text: text}
	for rest := text; rest != ""; {
		s, length, err := readStep(rest, len(p.steps) == 0)
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		if len(p.steps) == maxPathSteps {
			return Path{}, fmt.Errorf("path %q has more than %d steps", text, maxPathSteps)
		}
		p.steps, rest = append(p.steps, s), rest[length:]
	}
	if len(p.steps) == 0 {
		return Path{}, fmt.Errorf("a path is empty: name a field, such as spec.secretName")
	}
	return p, nil
}

// readStep reads the step at the beginning of a text, and returns its length.
func readStep(text string, first bool) (pathStep, int, error) {
	if m := pathKey.FindStringSubmatch(text); m != nil && !first {
		return pathStep{field: m[1]}, len(m[0]), nil
	}
	if m := pathElement.FindStringSubmatch(text); m != nil && !first {
		if m[1] == "*" {
			return pathStep{list: true, index: -1}, len(m[0]), nil
		}
		index, err := strconv.Atoi(m[1])
		if err != nil || index >= maxPathIndex {
			return pathStep{}, 0, fmt.Errorf("element %s is beyond %d", m[1], maxPathIndex-1)
		}
		return pathStep{list: true, index: index}, len(m[0]), nil
	}
	dot := 0
	if !first {
		if !strings.HasPrefix(text, ".") {
			return pathStep{}, 0, fmt.Errorf("%q is none of .field, [*], [3] and ['key']", text)
		}
		dot = 1
	}
	name := pathName.FindString(text[dot:])
	if name == "" {
		return pathStep{}, 0, fmt.Errorf("%q does not begin with a field's name", text[dot:])
	}
	return pathStep{field: name}, dot + len(name), nil
}

// MustPath is [ParsePath] for a path in code. MustPath panics where ParsePath returns an error.
func MustPath(text string) Path {
	p, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return p
}

// String returns the text that [ParsePath] parsed.
func (p Path) String() string { return p.text }

// Values returns the values that the path leads to in the content of an object, in the order of
// the object. A field that is absent, null or of an unexpected type yields no value. Values
// returns the first 10,000 values (maxPathValues) of an object that has more.
func (p Path) Values(content map[string]any) []Value {
	if len(p.steps) == 0 {
		return nil
	}
	found := []Value{{Value: content}}
	for _, s := range p.steps {
		var next []Value
		for _, v := range found {
			next = s.from(v, next)
		}
		found = next
	}
	return found
}

// from appends to next each [Value] that the step leads to from v.
func (s pathStep) from(v Value, next []Value) []Value {
	if !s.list {
		holder, _ := v.Value.(map[string]any)
		if value := holder[s.field]; value != nil && len(next) < maxPathValues {
			next = append(next, Value{Field: joinField(v.Field, s.field), Value: value, Holder: holder})
		}
		return next
	}
	list, _ := v.Value.([]any)
	for i, value := range list {
		if (s.index < 0 || s.index == i) && value != nil && len(next) < maxPathValues {
			next = append(next, Value{Field: fmt.Sprintf("%s[%d]", v.Field, i), Value: value, Holder: v.Holder})
		}
	}
	return next
}

func joinField(path, field string) string {
	switch {
	case pathName.FindString(field) != field:
		return path + "['" + field + "']"
	case path == "":
		return field
	default:
		return path + "." + field
	}
}
