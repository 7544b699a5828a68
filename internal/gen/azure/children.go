package azure

import (
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// separateChildren takes the collections of children out of the bodies of their owners, where each child
// is a resource of its own: subnets of a virtual network. A collection is one of children if "properties"
// of its items has a definition of the same name as "properties" of the child. The child may have an older
// api-version, but no newer one, in which it may have become a resource.
//
// A collection stays if another part of the owner refers to its items by name, because the owner can't be
// created without them: backendAddressPools of a load balancer.
func separateChildren(m Model, config *Config) (Model, error) {
	children := map[string][]Resource{} // by the lower-case type of the owner
	for _, r := range m.Resources {
		key := strings.ToLower(r.Owner)
		children[key] = append(children[key], r)
	}
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		collections := collectionsOf(r, children[strings.ToLower(r.Type)])
		r.Preserved = slices.DeleteFunc(slices.Clone(collections), func(p catalogue.Preserved) bool {
			return config.isEmbedded(p.Type) || refersTo(r.Body, partOf(p), collections, config)
		})
		out.Counts.ChildrenPreserved += len(r.Preserved)
		if len(r.Preserved) > 0 {
			r.Body = without(r.Body, r.Preserved)
		}
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// collectionsOf returns the lists in the properties of r whose items are children of r.
func collectionsOf(r Resource, children []Resource) []catalogue.Preserved {
	var found []catalogue.Preserved
	properties := r.Body.properties()
	if properties == nil {
		return nil
	}
	for _, p := range properties.Props {
		if p.Type.Type != catalogue.List {
			continue
		}
		item := p.Type.Element.properties()
		for _, child := range children {
			own := child.Body.properties()
			if child.APIVersion > r.APIVersion {
				continue
			}
			if item != nil && own != nil && item.name() != "" && item.name() == own.name() {
				found = append(found, catalogue.Preserved{Path: "/properties/" + p.ARM, Type: child.Type})
			}
		}
	}
	return slices.Compact(found) // a child has several versions
}

// partOf returns the name of the collection.
func partOf(p catalogue.Preserved) string { return lastSegment(p.Path) }

// refersTo tells whether body, its collections of children aside, has a property that is named like an
// item of part.
func refersTo(body *Type, part string, collections []catalogue.Preserved, config *Config) bool {
	seen := map[*Type]bool{}
	var search func(t *Type) bool
	search = func(t *Type) bool {
		if t == nil || seen[t] {
			return false
		}
		seen[t] = true
		return slices.ContainsFunc(t.Props, func(p Prop) bool {
			return isIDObject(core(p.Type)) && config.sameWord(p.ARM, part) || search(p.Type)
		}) || search(t.Element)
	}
	return search(without(body, collections))
}

// without returns the body without collections.
func without(body *Type, collections []catalogue.Preserved) *Type {
	drop := func(p Prop) bool {
		return slices.ContainsFunc(collections, func(c catalogue.Preserved) bool { return partOf(c) == p.ARM })
	}
	props := slices.Clone(body.Props)
	for i, p := range props {
		if p.ARM == "properties" {
			props[i].Type = p.Type.with(slices.DeleteFunc(slices.Clone(p.Type.Props), drop))
		}
	}
	return body.with(props)
}
