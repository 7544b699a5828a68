package relation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxPathGrowth is how many elements [Path.Set] appends to one list.
const maxPathGrowth = 1000

// Set returns content with a value at the field that the path leads to. Set makes the objects and
// lists on the way that are missing, and fills a list with nil up to the element. Set changes neither
// content nor any map or list in it.
//
// Set fails if the path has "[*]", if content has a value of another type on the way, or if the
// element is more than 1,000 elements (maxPathGrowth) beyond the end of the list. The error names
// the field.
func (p Path) Set(content map[string]any, value any) (map[string]any, error) {
	return p.SetWithin(content, value, nil)
}

// SetWithin is [Path.Set] within a budget: SetWithin fails when the budget is spent.
func (p Path) SetWithin(content map[string]any, value any, budget *Budget) (map[string]any, error) {
	if len(p.steps) == 0 {
		return nil, fmt.Errorf("an empty path leads to no field")
	}
	err := budget.spend(value)
	var set any
	if err == nil {
		set, err = setAt(content, p.steps, "", value, budget)
	}
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", p.text, err)
	}
	return set.(map[string]any), nil
}

// setAt returns a copy of at, the value of field, with a value where steps lead to.
func setAt(at any, steps []pathStep, field string, value any, budget *Budget) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	if steps[0].list {
		return setElement(at, steps, field, value, budget)
	}
	object, ok := at.(map[string]any)
	if !ok && at != nil {
		return nil, fmt.Errorf("%s is %s, not an object", nameOf(field), TypeOf(at))
	}
	inner := joinField(field, steps[0].field)
	if err := budget.take(len(object) + 1); err != nil {
		return nil, err
	}
	set, err := setAt(object[steps[0].field], steps[1:], inner, value, budget)
	if err != nil {
		return nil, err
	}
	if object = maps.Clone(object); object == nil {
		object = map[string]any{}
	}
	object[steps[0].field] = set
	return object, nil
}

func setElement(at any, steps []pathStep, field string, value any, budget *Budget) (any, error) {
	list, ok := at.([]any)
	index := steps[0].index
	switch {
	case !ok && at != nil:
		return nil, fmt.Errorf("%s is %s, not a list", nameOf(field), TypeOf(at))
	case index < 0:
		return nil, fmt.Errorf("%s[*] stands for several elements: name one, such as %s[0]", field, field)
	case index-len(list) >= maxPathGrowth:
		return nil, fmt.Errorf("%s has %d elements, and element %d is too far beyond", nameOf(field), len(list), index)
	}
	if err := budget.take(max(len(list), index+1)); err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	for len(list) <= index {
		list = append(list, nil)
	}
	set, err := setAt(list[index], steps[1:], fmt.Sprintf("%s[%d]", field, index), value, budget)
	if err != nil {
		return nil, err
	}
	list[index] = set
	return list, nil
}

func nameOf(field string) string {
	if field == "" {
		return "the object"
	}
	return field
}

// TypeOf returns the JSON type of a value.
func TypeOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	default:
		return "a number"
	}
}

// Root returns the first fields of the path up to the first list: ["metadata", "labels", "a"] for
// "metadata.labels.a", and ["spec"] for "spec[0].b". Callers refuse paths by their root, such as
// metadata.ownerReferences.
func (p Path) Root() []string {
	var root []string
	for _, s := range p.steps {
		if s.list {
			break
		}
		root = append(root, s.field)
	}
	return root
}

// Pointer returns the path as a JSON Pointer (RFC 6901), such as "/metadata/labels/a~1b". Pointer reports
// false for a path with "[*]", which stands for several fields.
func (p Path) Pointer() (string, bool) {
	var text strings.Builder
	for _, s := range p.steps {
		switch {
		case s.list && s.index < 0:
			return "", false
		case s.list:
			fmt.Fprintf(&text, "/%d", s.index)
		default:
			text.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s.field))
		}
	}
	return text.String(), true
}

// Remove returns content without the field that the path leads to. A missing field is no error. Remove
// changes neither content nor any map or list in it, and fails when the budget is spent. Remove also fails
// for a path with "[*]", however many elements content has.
func (p Path) Remove(content map[string]any, budget *Budget) (map[string]any, error) {
	if len(p.steps) == 0 || p.steps[len(p.steps)-1].list {
		return nil, fmt.Errorf("path %q: only a field of an object can be removed", p.text)
	}
	if _, isSingle := p.Pointer(); !isSingle {
		return nil, fmt.Errorf("path %q: [*] stands for several elements: name one, such as [0]", p.text)
	}
	parent := Path{text: p.text, steps: p.steps[:len(p.steps)-1]}
	last := p.steps[len(p.steps)-1].field
	if len(parent.steps) == 0 {
		if err := budget.take(len(content)); err != nil {
			return nil, fmt.Errorf("path %q: %w", p.text, err)
		}
		without := maps.Clone(content)
		delete(without, last)
		return without, nil
	}
	values := parent.Values(content)
	if len(values) != 1 {
		return content, nil
	}
	object, ok := values[0].Value.(map[string]any)
	if _, has := object[last]; !ok || !has {
		return content, nil
	}
	without := maps.Clone(object)
	delete(without, last)
	return parent.SetWithin(content, without, budget)
}
