package azure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Model is the resources of all schemas, by type and api-version.
type Model struct {
	Resources []Resource
	Refusals  []catalogue.Refusal
	Counts    Counts
}

// Resource is an ARM type in one api-version.
type Resource struct {
	catalogue.Kind
	// Body is the object in the schema: name, type, apiVersion, properties and so on.
	Body *Type
	// Children are the types that the property resources of the schema names, relative to Type.
	Children []string
	// Name is the string that names of the resource are.
	Name *catalogue.Shape
	// Preserved are the collections that separateChildren took out of Body.
	Preserved []catalogue.Preserved
	// ReadOnly, Sensitive and Actions come from the Facts. Lacking are the paths of Sensitive that Body does not have.
	ReadOnly, Sensitive, Lacking []catalogue.Path
	Actions                      []catalogue.Action
}

// Type is a value in an ARM body. A Type doesn't change once readModel made it: a stage makes a copy.
type Type struct {
	catalogue.Shape // Properties and Items aren't in use
	// Definition is the place of the definition in the schemas, such as
	// schemas/2020-03-01/Microsoft.Network.json#/definitions/Subnet, or empty.
	Definition string
	// Props of an Object, by Name.
	Props []Prop
	// Element of a List, a Map or an IDMap.
	Element *Type
}

// Prop is a property of an Object.
type Prop struct {
	catalogue.Property // Shape isn't in use
	Type               *Type
	// SaysID tells that the description calls the value an ARM id, SaysGUID that it calls the value an
	// id of another sort.
	SaysID, SaysGUID bool
}

// prop returns the property with a name in ARM, or nil.
func (t *Type) prop(name string) *Prop {
	if t == nil {
		return nil
	}
	for i := range t.Props {
		if t.Props[i].ARM == name {
			return &t.Props[i]
		}
	}
	return nil
}

// properties returns the type of the property "properties", or nil.
func (t *Type) properties() *Type {
	if p := t.prop("properties"); p != nil {
		return p.Type
	}
	return nil
}

// with returns a copy of t with other Props.
func (t *Type) with(props []Prop) *Type {
	copied := *t
	copied.Props = props
	return &copied
}

// rewrite returns t with each Type inside of it replaced by the result of change, from the top down. path is
// the names of the properties on the way. Unchanged parts are shared with t.
func (t *Type) rewrite(path []string, change func(t *Type, path []string) *Type) *Type {
	out := change(t, path)
	for i, p := range out.Props {
		inner := p.Type.rewrite(append(slices.Clip(path), p.ARM), change)
		if inner == p.Type {
			continue
		}
		if out == t {
			out = t.with(slices.Clone(t.Props))
		}
		out.Props[i].Type = inner
	}
	if out.Element == nil {
		return out
	}
	inner := out.Element.rewrite(path, change)
	if inner != out.Element {
		copied := *out
		copied.Element = inner
		out = &copied
	}
	return out
}

// maxSize and maxDepth bound a body. All of ARM needs less than a third.
const (
	maxSize  = 1 << 14
	maxDepth = 60
)

// extent is the number of values in a body, and how deep these are. Both stop a little above their bounds.
type extent struct{ size, depth int }

// checkSize fails for a body that is too large or too deep. known has the results so far.
func (t *Type) checkSize(known map[*Type]extent) error {
	if e := t.extent(known); e.size > maxSize || e.depth > maxDepth {
		return fmt.Errorf("the schema has more than %d values or is deeper than %d: name a definition in it in the config: "+
			"open: [DEFINITION]", maxSize, maxDepth)
	}
	return nil
}

// extent counts a definition in several places several times.
func (t *Type) extent(known map[*Type]extent) extent {
	if t == nil {
		return extent{}
	}
	if e, ok := known[t]; ok {
		return e
	}
	e := extent{size: 1}
	add := func(inner extent) {
		e.size = min(e.size+inner.size, maxSize+1)
		e.depth = max(e.depth, min(inner.depth+1, maxDepth+1))
	}
	add(t.Element.extent(known))
	for _, p := range t.Props {
		add(p.Type.extent(known))
	}
	known[t] = e
	return e
}

// name returns the last part of Definition.
func (t *Type) name() string { return t.Definition[strings.LastIndex(t.Definition, "/")+1:] }

// refuse returns the Model without a resource, and with the reason.
func (m *Model) refuse(r Resource, reason string) {
	m.Refusals = append(m.Refusals, catalogue.Refusal{Type: r.Type, APIVersion: r.APIVersion, Reason: reason})
}
