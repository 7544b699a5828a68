package azure

import (
	"fmt"
	"io"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Explain writes the relationships of all versions of a type.
func Explain(w io.Writer, c *catalogue.Catalogue, armType string) error {
	kinds := c.Versions(armType)
	for _, r := range c.Refusals() {
		if strings.EqualFold(r.Type, armType) {
			fmt.Fprintf(w, "%s in %s is refused: %s\n", r.Type, r.APIVersion, r.Reason)
		}
	}
	if len(kinds) == 0 {
		return fmt.Errorf("the schemas have no usable type %s", armType)
	}
	for _, k := range kinds {
		definition, err := k.Definition()
		if err != nil {
			return err
		}
		fields, err := k.ReferenceFields()
		if err != nil {
			return err
		}
		gvk := k.GroupVersionKind()
		fmt.Fprintf(w, "%s in %s\n  kind       %s, %s/%s\n  schema     %s#/%s\n  scope      %s\n  owner      %s\n", k.Type,
			k.APIVersion, gvk.Kind, gvk.Group, gvk.Version, k.Source.Path, k.SchemaPath, k.Scopes, ownerText(c, k))
		for _, p := range definition.Preserved {
			fmt.Fprintf(w, "  children   %s are %s\n", p.Path, p.Type)
		}
		for _, f := range fields {
			fmt.Fprintf(w, "  reference  %s to %s\n", f.Path, targetText(c, f.Targets))
		}
		explainFacts(w, definition)
	}
	return nil
}

// explainFacts writes the secrets, the read-only places and the actions of a type.
func explainFacts(w io.Writer, d *catalogue.Definition) {
	for _, p := range d.Sensitive {
		fmt.Fprintf(w, "  secret     %s\n", p)
	}
	for _, p := range d.ReadOnly {
		fmt.Fprintf(w, "  read-only  %s\n", p)
	}
	for _, a := range d.Actions {
		fmt.Fprintf(w, "  action     %s\n", a.Name)
	}
}

func ownerText(c *catalogue.Catalogue, k *catalogue.Kind) string {
	switch {
	case k.Extends():
		return "any resource"
	case k.Owner == "":
		return "none"
	case c.Default(k.Owner) == nil:
		return k.Owner + ", in the azure form only"
	}
	return k.Owner
}

func targetText(c *catalogue.Catalogue, targets []catalogue.Target) string {
	if len(targets) == 0 {
		return "any resource"
	}
	texts := make([]string, 0, len(targets))
	for _, t := range targets {
		text := t.Type
		if t.Part != "" {
			text = t.Part + " of " + t.Type
		}
		if c.Default(t.Type) == nil {
			text += " (no kind)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " or ")
}

// Stats writes how many owners and references were found.
func Stats(w io.Writer, m Model) {
	c := m.Counts
	refused := map[string]bool{}
	for _, r := range m.Refusals {
		refused[strings.ToLower(r.Type)] = true
	}
	types := m.types()
	secrets, lacking := 0, 0
	for _, r := range m.Resources {
		secrets += len(r.Sensitive)
		lacking += len(r.Lacking)
	}
	fmt.Fprintf(w, "types                 %d, of which %d refused\n", len(types), len(refused))
	fmt.Fprintf(w, "kinds with versions   %d\n", len(m.Resources))
	fmt.Fprintf(w, "owners found          %d\nowners configured     %d\nchildren preserved    %d\n", c.OwnersFound,
		c.OwnersConfigured, c.ChildrenPreserved)
	fmt.Fprintf(w, "references            %d\n  to known kinds      %d\n", c.ByKind+c.ByPart+c.ByIDOnly, c.ByKind)
	fmt.Fprintf(w, "  to parts            %d\n  by id only          %d\n", c.ByPart, c.ByIDOnly)
	fmt.Fprintf(w, "secrets               %d\n  not in the schemas  %d\n", secrets, lacking)
}
