package azure

import (
	"slices"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// openEnums opens the enums to which Azure adds values between api-versions, such as the sizes of virtual
// machines. The values of the schema stay known, and any other is accepted.
func openEnums(m Model, config *Config) (Model, error) {
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		r.Body = r.Body.rewrite(nil, func(t *Type, _ []string) *Type {
			opened := t
			for i, p := range t.Props {
				value := core(p.Type)
				if value.Type != catalogue.String || len(value.Enum) == 0 || value.Open ||
					!config.isOpenEnum(propertyNames(r.Type, t.name(), p.ARM)) {
					continue
				}
				if opened == t {
					opened = t.with(slices.Clone(t.Props))
				}
				open := *value
				open.Open = true
				opened.Props[i].Type = around(p.Type, &open)
			}
			return opened
		})
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}
