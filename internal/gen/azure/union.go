package azure

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// options adds the oneOf, anyOf and allOf of a node to the Type of the rest of the node.
//
// A union of objects becomes one object with the properties of all: the shape of an object in
// Kubernetes can't depend on a value. The discriminator gets the values of all options.
func (r *reader) options(f *File, n node, base *Type) (*Type, error) {
	for _, part := range n.list("allOf") {
		t, err := r.option(f, part)
		if err != nil {
			return nil, err
		}
		base = merge(base, t, false)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if n.list(key) == nil {
			continue
		}
		union, err := r.union(f, n.list(key))
		if err != nil {
			return nil, err
		}
		if key == "anyOf" && union.Type == catalogue.Object {
			if union, err = r.generic(f, n.list(key)[0], union); err != nil {
				return nil, err
			}
		}
		base = merge(base, union, false)
	}
	return base, nil
}

// generic returns the union of an anyOf with the required properties of its first option. In ARM the first
// one is generic, and the others describe some of its values: extensions of a virtual machine.
func (r *reader) generic(f *File, first any, union *Type) (*Type, error) {
	t, err := r.option(f, first)
	if err != nil || t == expression {
		return union, err
	}
	props := slices.Clone(union.Props)
	for i, p := range props {
		own := t.prop(p.ARM)
		props[i].Required = own != nil && own.Required
		props[i].Suggested = false
	}
	return union.with(props), nil
}

func (r *reader) option(f *File, value any) (*Type, error) {
	schema, ok := value.(map[string]any)
	if !ok {
		return &Type{}, nil
	}
	return r.read(f, schema)
}

// union returns the Type that accepts each of the options but expressions. A union of expressions alone is
// an expression.
func (r *reader) union(f *File, options []any) (*Type, error) {
	var types []*Type
	for _, o := range options {
		t, err := r.option(f, o)
		if err != nil {
			return nil, err
		}
		if t != expression {
			types = append(types, t)
		}
	}
	if len(types) == 0 {
		return expression, nil
	}
	out := types[0]
	for _, t := range types[1:] {
		out = merge(out, t, true)
	}
	if len(types) > 1 && out.Type == catalogue.Object {
		marked := *out
		marked.Discriminator = discriminator(types)
		out = &marked
	}
	return out, nil
}

// discriminator returns the property that has one value in each of the objects.
func discriminator(types []*Type) string {
	for _, p := range types[0].Props {
		fixed := func(t *Type) bool {
			other := t.prop(p.ARM)
			return other != nil && len(other.Type.Enum) == 1
		}
		if !slices.ContainsFunc(types, func(t *Type) bool { return !fixed(t) }) {
			return p.ARM
		}
	}
	return ""
}

// merge returns a Type for values of a or b if either is true, and otherwise for values of both.
func merge(a, b *Type, either bool) *Type {
	switch {
	case a == b || b == expression:
		return a
	case a == expression:
		return b
	case a.saysNothing():
		return cond(either, a, b)
	case b.saysNothing():
		return cond(either, b, a)
	case a.Type == b.Type:
		return mergeAlike(a, b, either)
	}
	if a.Type > b.Type {
		a, b = b, a
	}
	switch [2]catalogue.Type{a.Type, b.Type} {
	case [2]catalogue.Type{catalogue.Object, catalogue.Map}:
		object := a.with(a.Props)
		object.Open = true
		return object
	case [2]catalogue.Type{catalogue.Integer, catalogue.Number}:
		return &Type{Shape: catalogue.Shape{Type: catalogue.Number}}
	case [2]catalogue.Type{catalogue.String, catalogue.Integer}:
		return &Type{Shape: catalogue.Shape{Type: catalogue.IntOrString}}
	default:
		return &Type{}
	}
}

// mergeAlike is merge for values of one JSON type.
func mergeAlike(a, b *Type, either bool) *Type {
	switch {
	case a.Type == catalogue.Object:
		return mergeObjects(a, b, either)
	case a.Element != nil:
		return &Type{Shape: a.Shape, Element: merge(a.Element, b.Element, either)}
	case either:
		return widen(a, b)
	default:
		return narrow(a, b)
	}
}

func cond(is bool, a, b *Type) *Type {
	if is {
		return a
	}
	return b
}

func (t *Type) saysNothing() bool { return t.Type == catalogue.Any }

// mergeObjects returns an object with the properties of both. In a union a property is required if
// both require it, and suggested if a, the earlier option, does.
func mergeObjects(a, b *Type, either bool) *Type {
	out := &Type{Shape: catalogue.Shape{
		Type: catalogue.Object, Open: a.Open && b.Open, Discriminator: cmp.Or(a.Discriminator, b.Discriminator),
	}, Definition: a.Definition}
	if either {
		out.Open = a.Open || b.Open
	}
	for _, p := range a.Props {
		other := b.prop(p.ARM)
		if other == nil {
			other = &Prop{Type: p.Type}
		}
		out.Props = append(out.Props, mergeProps(p, *other, either))
	}
	for _, p := range b.Props {
		if a.prop(p.ARM) == nil {
			p.Required = p.Required && !either
			p.Suggested = p.Suggested && !either
			out.Props = append(out.Props, p)
		}
	}
	slices.SortFunc(out.Props, func(a, b Prop) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// mergeProps returns a property that both objects have.
func mergeProps(p, other Prop, either bool) Prop {
	first := p.Required || p.Suggested
	p.Type = merge(p.Type, other.Type, either)
	p.Required = p.Required && other.Required || !either && (p.Required || other.Required)
	p.Suggested = !p.Required && (first || !either && other.Suggested)
	p.SaysID = p.SaysID || other.SaysID
	return p
}

// narrow returns a scalar of the same JSON type that accepts what a and b accept.
func narrow(a, b *Type) *Type {
	out := *a
	common := slices.DeleteFunc(slices.Clone(a.Enum), func(e string) bool { return !slices.Contains(b.Enum, e) })
	switch {
	case len(a.Enum) == 0:
		out.Enum = b.Enum
	case len(common) > 0:
		out.Enum = common
	}
	out.Pattern = cmp.Or(a.Pattern, b.Pattern)
	out.Format = cmp.Or(a.Format, b.Format)
	out.MinLength = max(a.MinLength, b.MinLength)
	out.MaxLength = cmp.Or(a.MaxLength, b.MaxLength)
	out.Minimum = cmp.Or(a.Minimum, b.Minimum)
	out.Maximum = cmp.Or(a.Maximum, b.Maximum)
	return &out
}

// oneName matches the patterns of names in templates that allow one name, or several.
var oneName = regexp.MustCompile(`^\^\.\*/\(?([^()]+)\)?\$$`)

// eitherPattern returns a pattern for what two patterns match, or "" for everything.
func eitherPattern(a, b string) string {
	one, other := oneName.FindStringSubmatch(a), oneName.FindStringSubmatch(b)
	switch {
	case a == b:
		return a
	case one == nil || other == nil:
		return ""
	default:
		return "^.*/(" + one[1] + "|" + other[1] + ")$"
	}
}

// widen returns a scalar of the same JSON type that accepts what a or b accepts.
func widen(a, b *Type) *Type {
	out := &Type{Shape: catalogue.Shape{Type: a.Type}, Definition: a.Definition}
	if len(a.Enum) > 0 && len(b.Enum) > 0 {
		added := slices.DeleteFunc(slices.Clone(b.Enum), func(e string) bool { return slices.Contains(a.Enum, e) })
		out.Enum = slices.Concat(a.Enum, added)
	}
	out.Pattern = eitherPattern(a.Pattern, b.Pattern)
	if a.MaxLength > 0 && b.MaxLength > 0 {
		out.MaxLength = max(a.MaxLength, b.MaxLength)
	}
	out.MinLength = min(a.MinLength, b.MinLength)
	if a.Minimum != nil && b.Minimum != nil {
		least := min(*a.Minimum, *b.Minimum)
		out.Minimum = &least
	}
	if a.Maximum != nil && b.Maximum != nil {
		most := max(*a.Maximum, *b.Maximum)
		out.Maximum = &most
	}
	return out
}
