package azure

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

var (
	// idName matches the names of properties that may be ARM ids.
	idName = regexp.MustCompile(`^ids?$|Ids?$|IDs?$`)
	// idText matches descriptions of ARM ids.
	idText = regexp.MustCompile(`(?i)/subscriptions/|\barm[ -]?(resource )?id\b|resource[ -]?id\b|resource identifier|` +
		`\bazure id\b|\bid of (the|an?) azure\b|\bazure resource (uri|manager)|\barm (uri|identifier|resource)`)
	// guidText matches descriptions, and guidPattern patterns, of ids that are no ARM ids.
	guidText    = regexp.MustCompile(`(?i)\bguid\b|\buuid\b|\b(tenant|client|object|principal|application|app)[ -]?id\b`)
	guidPattern = regexp.MustCompile(`(?i)a-f|0-9|\\d`)
)

// finder finds the references of one resource.
type finder struct {
	config  *Config
	types   targets
	byBody  map[string]string // the ARM type by the Definition of its properties
	unsure  map[string]string
	counts  *Counts
	current Resource
}

// setReferences makes a reference of each property that is an ARM id, or an object with nothing but an ARM
// id. The error lists all properties of which neither schema nor config tells.
func setReferences(m Model, config *Config) (Model, error) {
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	f := finder{config: config, unsure: map[string]string{}, byBody: map[string]string{}, counts: &out.Counts}
	f.types = newTargets(m, config)
	for _, r := range m.Resources {
		if p := r.Body.properties(); p != nil && p.Definition != "" {
			f.byBody[p.Definition] = r.Type
		}
	}
	for _, r := range m.Resources {
		f.current = r
		f.types.own = f.types.ownParts(r)
		r.Body = r.Body.rewrite(nil, f.object)
		out.Resources = append(out.Resources, r)
	}
	if len(f.unsure) == 0 {
		return out, nil
	}
	lines := make([]string, 0, len(f.unsure))
	for _, name := range slices.Sorted(maps.Keys(f.unsure)) {
		lines = append(lines, f.unsure[name])
	}
	return out, fmt.Errorf("%d properties may be ARM ids: write each in the config, in ids or in plain:\n%s", len(lines),
		strings.Join(lines, "\n"))
}

// core returns the items of a list, or t.
func core(t *Type) *Type {
	for t != nil && t.Type == catalogue.List {
		t = t.Element
	}
	return t
}

// around returns inner in as many lists as t.
func around(t, inner *Type) *Type {
	if t.Type != catalogue.List {
		return inner
	}
	return &Type{Shape: t.Shape, Element: around(t.Element, inner)}
}

// isIDObject tells whether a value is an object with nothing but a string id.
func isIDObject(t *Type) bool {
	return t != nil && t.Type == catalogue.Object && !t.Open && len(t.Props) == 1 && t.Props[0].ARM == "id" &&
		t.Props[0].Type.Type == catalogue.String
}

// object returns an object with references in place of ids.
func (f *finder) object(t *Type, path []string) *Type {
	if t.Type != catalogue.Object || isIDObject(t) || len(t.Props) == 0 {
		return t
	}
	props := slices.Clone(t.Props)
	for i, p := range props {
		if len(path) == 0 && (p.ARM == "id" || p.ARM == "resources") {
			continue
		}
		names := propertyNames(f.current.Type, t.name(), p.ARM)
		props[i] = f.property(t, p, names, path)
	}
	return t.with(props)
}

func (f *finder) property(holder *Type, p Prop, names, path []string) Prop {
	inner := core(p.Type)
	word := p.ARM
	if p.ARM == "id" && len(path) > 0 {
		word = path[len(path)-1]
	}
	reference := catalogue.Shape{}
	switch {
	case inner.Type == catalogue.Map && f.config.has("maps", f.config.Maps, p.ARM):
		reference.Type = catalogue.IDMap
	case f.isResource(inner, p):
		reference.Type = catalogue.IDObject
		reference.Targets = []catalogue.Target{{Type: f.byBody[inner.properties().Definition]}}
	case isIDObject(inner):
		if is, answered := f.config.isID(names); answered && !is {
			return p
		}
		reference.Type = catalogue.IDObject
	case inner.Type == catalogue.String && f.isID(holder, p, inner, names, path):
		reference.Type = catalogue.ID
		p.Name = refName(p.Name, holder)
	default:
		return p
	}
	if reference.Targets == nil {
		reference.Targets = f.types.find(f.current.Type, word, names)
	}
	f.counts.count(reference.Targets)
	p.Type = around(p.Type, &Type{Shape: reference, Element: inner.Element})
	return p
}

// isResource tells whether an object repeats the definition of a resource only to refer to it: the
// networkSecurityGroup in a subnet.
func (f *finder) isResource(t *Type, p Prop) bool {
	properties := t.properties()
	if properties == nil || t.prop("id") == nil {
		return false
	}
	armType, ok := f.byBody[properties.Definition]
	if !ok {
		return false
	}
	parent, _ := parentOf(armType)
	own := strings.EqualFold(parent, f.current.Type) || strings.EqualFold(armType, f.current.Type)
	return !own || p.Type.Type != catalogue.List
}

// isID tells whether a string is an ARM id.
func (f *finder) isID(holder *Type, p Prop, t *Type, names, path []string) bool {
	looks := idName.MatchString(p.ARM) || p.SaysID && strings.Contains(p.ARM, "esource")
	if !looks || len(t.Enum) > 0 {
		return false
	}
	if p.ARM == "id" && holder.prop("name") != nil && holder.prop("properties") != nil {
		return false // the id of a part of this resource
	}
	if is, answered := f.config.isID(names); answered {
		return is
	}
	switch {
	case guidPattern.MatchString(t.Pattern) && !strings.Contains(t.Pattern, "ubscriptions"):
		return false
	case p.SaysID:
		return true
	case p.SaysGUID || t.Format == "uuid":
		return false
	}
	name := names[len(names)-3] // with the definition
	if _, ok := f.unsure[name]; !ok {
		f.unsure[name] = fmt.Sprintf("  %s # %s, %s", name, f.current.Type, strings.Join(append(path, p.ARM), "."))
	}
	return false
}

// refName returns the name of a reference: subnetRef for subnetId, and ref for id.
func refName(name string, holder *Type) string {
	stem, plural := name, ""
	if idName.MatchString(name) {
		stem = strings.TrimSuffix(name, "s")
		plural = name[len(stem):]
		stem = stem[:len(stem)-len("id")]
	}
	out := stem + "Ref" + plural
	if stem == "" {
		out = "ref" + plural
	}
	if holder.prop(out) != nil {
		return name + "Ref"
	}
	return out
}
