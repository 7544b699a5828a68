package azure

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// toCatalogue returns the Model as a catalogue.
func toCatalogue(m Model) (*catalogue.Catalogue, error) {
	entries := make([]catalogue.Entry, 0, len(m.Resources))
	refusals := m.Refusals
	for _, r := range m.Resources {
		body, err := shapeOf(r.Body, "spec")
		if err != nil {
			refusals = append(refusals, catalogue.Refusal{Type: r.Type, APIVersion: r.APIVersion, Reason: err.Error()})
			continue
		}
		entries = append(entries, catalogue.Entry{Kind: r.Kind, Definition: &catalogue.Definition{
			Body: body, Name: r.Name, Preserved: r.Preserved, ReadOnly: r.ReadOnly, Sensitive: r.Sensitive, Actions: r.Actions,
		}})
	}
	c, err := catalogue.New(entries, refusals)
	if err != nil {
		return nil, fmt.Errorf("making the catalogue: %w", err)
	}
	return c, nil
}

// shapeOf returns the Shape of a Type. It fails if an object has a name twice.
func shapeOf(t *Type, path string) (*catalogue.Shape, error) {
	s := t.Shape
	props := slices.SortedFunc(slices.Values(t.Props), func(a, b Prop) int { return strings.Compare(a.Name, b.Name) })
	for i, p := range props {
		if p.Name == "" || i > 0 && props[i-1].Name == p.Name {
			return nil, fmt.Errorf("two properties of %s have the name %q in Kubernetes, or one has none", path, p.Name)
		}
		inner, err := shapeOf(p.Type, path+"."+p.Name)
		if err != nil {
			return nil, err
		}
		p.Shape = inner
		s.Properties = append(s.Properties, p.Property)
	}
	if t.Element != nil {
		inner, err := shapeOf(t.Element, path+"[*]")
		if err != nil {
			return nil, err
		}
		s.Items = inner
	}
	return &s, nil
}
