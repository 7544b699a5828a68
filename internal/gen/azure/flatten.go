package azure

import (
	"slices"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// flatten moves the properties of "properties" to the object around them, everywhere in a body. A
// property whose name is taken there, or reserved in a spec, gets the name propertiesName.
func flatten(m Model, _ *Config) (Model, error) {
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		r.Body = r.Body.rewrite(nil, func(t *Type, path []string) *Type {
			if len(path) == 0 {
				return flattened(t, catalogue.IsReserved, "name", "type", "apiVersion", "resources")
			}
			return flattened(t, func(string) bool { return false })
		})
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// flattened returns an object without properties that are to be left out, and with those of its
// "properties".
func flattened(t *Type, reserved func(name string) bool, leftOut ...string) *Type {
	nested := t.properties()
	flat := canFlatten(nested)
	if t.Type != catalogue.Object || !flat && leftOut == nil {
		return t
	}
	taken := map[string]bool{}
	var props []Prop
	for _, p := range t.Props {
		if slices.Contains(leftOut, p.ARM) || flat && p.ARM == "properties" {
			continue
		}
		if reserved(p.Name) {
			p.Name = "arm" + upperFirst(p.Name)
		}
		taken[p.Name] = true
		props = append(props, p)
	}
	if !flat {
		return t.with(props)
	}
	for _, p := range nested.Props {
		p.Nested = true
		if taken[p.Name] || reserved(p.Name) {
			p.Name = "properties" + upperFirst(p.Name)
		}
		props = append(props, p)
	}
	return t.with(props)
}

// canFlatten tells whether the properties of "properties" can move to the object around them.
func canFlatten(t *Type) bool {
	return t != nil && t.Type == catalogue.Object && !t.Open && len(t.Props) > 0 && t.prop("properties") == nil
}
