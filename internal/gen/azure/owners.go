package azure

import (
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// setOwners finds the owner of each resource: the type in front of the last segment of its own type, and
// otherwise the resource group. A resource whose owner has no schema is refused, unless the
// config names the owner: then an owner can be named in the azure form.
func setOwners(m Model, config *Config) (Model, error) {
	known := m.types()
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		parent, nested := parentOf(r.Type)
		configured, answered := lookup(config, "owners", config.Owners, r.Type)
		owner, found := known[strings.ToLower(parent)]
		switch {
		case answered:
			r.Owner = configured
			out.Counts.OwnersConfigured++
		case nested && found:
			r.Owner = owner
			out.Counts.OwnersFound++
		case nested:
			out.refuse(r, fmt.Sprintf("its owner %s has no schema: to name owners in the azure form, write in the config: "+
				"owners: {%s: %s}", parent, r.Type, parent))
			continue
		case r.Scopes.Has(catalogue.ResourceGroupScope):
			r.Owner = catalogue.ResourceGroupType
			out.Counts.OwnersFound++
		}
		out.Resources = append(out.Resources, r)
	}
	return out, checkChildren(out, config)
}

// checkChildren compares the owners with the property resources of the schemas.
func checkChildren(m Model, config *Config) error {
	owners := map[string]string{}
	for _, r := range m.Resources {
		owners[strings.ToLower(r.Type)] = r.Owner
	}
	for _, r := range m.Resources {
		for _, child := range r.Children {
			if _, relative, ok := strings.Cut(strings.ToLower(child), strings.ToLower(r.Type)+"/"); ok {
				child = relative
			}
			full := r.Type + "/" + child
			owner, ok := owners[strings.ToLower(full)]
			if ok && !strings.EqualFold(owner, r.Type) && config.Owners[full] == "" {
				return fmt.Errorf("%s lists %s in its resources, but the type says that %s owns it: write in the config: "+
					"owners: {%s: %s}", r.Type, child, owner, full, r.Type)
			}
		}
	}
	return nil
}

// types returns all types by their lower-case names, those of refused resources included.
func (m Model) types() map[string]string {
	known := map[string]string{}
	for _, r := range m.Refusals {
		known[strings.ToLower(r.Type)] = r.Type
	}
	for _, r := range m.Resources {
		known[strings.ToLower(r.Type)] = r.Type
	}
	return known
}

// parentOf returns a type without its last segment. nested is false if that is the provider.
func parentOf(armType string) (parent string, nested bool) {
	parent = armType[:max(0, strings.LastIndex(armType, "/"))]
	return parent, strings.Contains(parent, "/")
}
