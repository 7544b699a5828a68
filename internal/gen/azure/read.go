package azure

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// reader turns nodes into Types.
type reader struct {
	config *Config
	done   map[string]*Type // by the id of the definition
	sizes  map[*Type]extent
	within []string // the ids of the definitions that are being read
}

// readModel reads the selected resources. One that can't be read is refused.
func readModel(l *Library, config *Config) (Model, error) {
	files, selections, err := l.selected(config.Default)
	if err != nil {
		return Model{}, err
	}
	files, selections = l.addExtras(files, selections)
	readers := map[*Root]*reader{}
	byVersion := map[string]int{}
	var m Model
	for i, s := range selections {
		f := files[i]
		if readers[f.root] == nil {
			readers[f.root] = &reader{config: config, done: map[string]*Type{}, sizes: map[*Type]extent{}}
		}
		r, err := readers[f.root].resource(f, s)
		if errors.Is(err, errNoResource) {
			continue
		}
		if err != nil {
			m.refuse(r, err.Error())
			continue
		}
		key := strings.ToLower(r.Type) + "@" + r.APIVersion
		if at, ok := byVersion[key]; ok { // the same type in another scope, or in a second directory
			m.Resources[at].Scopes |= r.Scopes
			continue
		}
		byVersion[key] = len(m.Resources)
		m.Resources = append(m.Resources, r)
	}
	slices.SortFunc(m.Resources, func(a, b Resource) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Type), strings.ToLower(b.Type)),
			strings.Compare(a.APIVersion, b.APIVersion))
	})
	if err := l.checkExtras(m.Resources); err != nil {
		return Model{}, err
	}
	spellAlike(m.Resources)
	for i := range m.Resources {
		l.facts[strings.ToLower(m.Resources[i].Type)].addTo(&m.Resources[i])
	}
	return m, nil
}

// spellAlike gives all versions of a type the spelling of the default version, or else of the newest.
func spellAlike(sorted []Resource) {
	spelling := map[string]string{}
	isDefault := map[string]bool{}
	for _, r := range sorted {
		lower := strings.ToLower(r.Type)
		if r.Default || !isDefault[lower] {
			spelling[lower] = r.Type
			isDefault[lower] = r.Default
		}
	}
	for i := range sorted {
		sorted[i].Type = spelling[strings.ToLower(sorted[i].Type)]
	}
}

// typeText matches ARM types, and versionText api-versions, of which a group, a kind and a version can be
// made.
var (
	typeText    = regexp.MustCompile(`^[a-zA-Z0-9]+(\.[a-zA-Z0-9]+)*(/[a-zA-Z][a-zA-Z0-9._-]*)+$`)
	versionText = regexp.MustCompile(`^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$`)
)

// errNoResource is the error for a definition without a type, which is in two files of ARM.
var errNoResource = errors.New("the definition has no type")

func (r *reader) resource(f *File, s Selection) (Resource, error) {
	schema := f.schema.node(s.Key).node(s.Definition)
	properties := schema.node("properties")
	out := Resource{Kind: catalogue.Kind{
		Type: single(properties.node("type")), APIVersion: single(properties.node("apiVersion")),
		Scopes: scopes[s.Key], Source: f.Source, SchemaPath: s.Key + "/" + s.Definition,
	}}
	if out.Type == "" || out.APIVersion == "" {
		return out, errNoResource
	}
	if !typeText.MatchString(out.Type) || !versionText.MatchString(out.APIVersion) {
		return out, errors.New("its type is none such as Microsoft.Network/virtualNetworks, or its api-version none such " +
			"as 2020-03-01-preview: correct the schema")
	}
	for key, scope := range scopes {
		twin := f.schema.node(key).node(s.Definition).node("properties")
		if strings.EqualFold(single(twin.node("type")), out.Type) && single(twin.node("apiVersion")) == out.APIVersion {
			out.Scopes |= scope
		}
	}
	out.Group, out.Version = catalogue.GroupOf(out.Type), catalogue.VersionOf(out.APIVersion)
	out.Default = r.config.isDefault(f.Path, s.Definition)
	out.Children = children(f, properties.node("resources"))
	own := maps.Clone(schema)
	own["properties"] = map[string]any(maps.Clone(properties))
	delete(own.node("properties"), "resources") // children are resources of their own
	var err error
	out.Body, err = r.read(f, own)
	if err == nil && out.Body.Type != catalogue.Object {
		err = errors.New("the resource is no object")
	}
	if err == nil {
		err = out.Body.checkSize(r.sizes)
	}
	out.Name = nameShape(out.Body.prop("name"))
	return out, err
}

// qualified matches the patterns of names in templates, in which the names of owners come first. fixed
// matches those that allow some names alone, such as ^name$ and ^(one|other)$.
var (
	qualified = regexp.MustCompile(`^\^\.[*+]/`)
	fixed     = regexp.MustCompile(`^\^(?:(\\?[$\w-]+)|\((\\?[$\w-]+(?:\|\\?[$\w-]+)*)\))\$$`)
)

// nameShape returns the string that names of a resource are, without those of its owners.
func nameShape(p *Prop) *catalogue.Shape {
	if p == nil || p.Type.Type != catalogue.String {
		return &catalogue.Shape{Type: catalogue.String}
	}
	name := p.Type.Shape
	name.Pattern = qualified.ReplaceAllString(name.Pattern, "^")
	if m := fixed.FindStringSubmatch(name.Pattern); m != nil {
		name.Pattern, name.Enum = "", strings.Split(strings.ReplaceAll(m[1]+m[2], `\`, ""), "|")
	}
	return &name
}

// single returns the only value of an enum.
func single(n node) string {
	if values := n.list("enum"); len(values) == 1 {
		s, _ := values[0].(string)
		return s
	}
	return ""
}

// children returns the types of the children that the property resources of a resource lists.
func children(f *File, resources node) []string {
	var types []string
	items := resources.node("items")
	options := append([]any{map[string]any(items)}, items.list("oneOf")...)
	for _, o := range options {
		option, _ := o.(map[string]any)
		child, _, _, err := f.resolve(node(option).text("$ref"))
		if err != nil || child == nil {
			continue
		}
		if childType := single(child.node("properties").node("type")); childType != "" {
			types = append(types, childType)
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// expression is the Type of an expression of the template language. A value is never an expression, so that an
// expression is no option of a union.
var expression = &Type{}

// read returns the Type of a node.
func (r *reader) read(f *File, n node) (*Type, error) {
	if ref := n.text("$ref"); ref != "" {
		return r.reference(f, ref)
	}
	t, err := r.plain(f, n)
	if err != nil {
		return nil, err
	}
	return r.options(f, n, t)
}

// reference reads a definition once.
func (r *reader) reference(f *File, ref string) (*Type, error) {
	if strings.HasSuffix(ref, "/definitions/expression") {
		return expression, nil
	}
	n, in, id, err := f.resolve(ref)
	if err != nil {
		return nil, err
	}
	if t, ok := r.done[id]; ok {
		return t, nil
	}
	if r.config.isOpen(id) {
		return &Type{Definition: id}, nil
	}
	if at := slices.Index(r.within, id); at >= 0 {
		var names []string
		for _, d := range append(slices.Clip(r.within[at:]), id) {
			names = append(names, d[strings.LastIndex(d, "/")+1:])
		}
		return nil, fmt.Errorf("the schema contains itself (%s): to accept any value there, write in the config: "+
			"open: [%q]", strings.Join(names, " -> "), id)
	}
	r.within = append(r.within, id)
	t, err := r.read(in, n)
	r.within = r.within[:len(r.within)-1]
	if err != nil {
		return nil, err
	}
	if t != expression && t.Definition == "" {
		named := *t
		named.Definition = id
		t = &named
	}
	r.done[id] = t
	return t, nil
}

// plain returns the Type of a node without its oneOf, anyOf and allOf.
func (r *reader) plain(f *File, n node) (*Type, error) {
	switch n.text("type") {
	case "object":
		return r.object(f, n)
	case "array":
		return r.array(f, n)
	case "string":
		return stringType(n), nil
	case "integer", "number":
		return numberType(n), nil
	case "boolean":
		return &Type{Shape: catalogue.Shape{Type: catalogue.Boolean}}, nil
	}
	if n.node("properties") != nil {
		return r.object(f, n)
	}
	if len(n.list("enum")) > 0 {
		return stringType(n), nil
	}
	return &Type{}, nil
}

func (r *reader) array(f *File, n node) (*Type, error) {
	element, err := r.read(f, n.node("items"))
	if err != nil {
		return nil, err
	}
	if element == expression {
		element = &Type{}
	}
	return &Type{
		Shape:   catalogue.Shape{Type: catalogue.List, MinLength: length(n, "minItems"), MaxLength: length(n, "maxItems")},
		Element: element,
	}, nil
}

func (r *reader) object(f *File, n node) (*Type, error) {
	properties := n.node("properties")
	t := &Type{Shape: catalogue.Shape{Type: catalogue.Object}}
	required := n.list("required")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inner, err := r.read(f, properties.node(name))
		if err != nil {
			return nil, err
		}
		if inner == expression {
			inner = &Type{Shape: catalogue.Shape{Type: catalogue.String}}
		}
		description := properties.node(name).text("description")
		t.Props = append(t.Props, Prop{
			Property: catalogue.Property{Name: name, ARM: name, Required: slices.Contains(required, any(name))},
			Type:     inner, SaysID: idText.MatchString(description), SaysGUID: guidText.MatchString(description),
		})
	}
	additional, isSchema := n["additionalProperties"].(map[string]any)
	allowed, isBool := n["additionalProperties"].(bool)
	t.Open = isSchema || isBool && allowed
	if len(t.Props) > 0 || isBool && !allowed {
		return t, nil
	}
	if len(additional) == 0 {
		t.Open = isSchema || isBool || len(n.list("oneOf"))+len(n.list("anyOf"))+len(n.list("allOf")) == 0
		return t, nil
	}
	element, err := r.read(f, additional)
	if err != nil {
		return nil, err
	}
	if element == expression {
		element = &Type{Shape: catalogue.Shape{Type: catalogue.String}}
	}
	return &Type{Shape: catalogue.Shape{Type: catalogue.Map}, Element: element}, nil
}

func stringType(n node) *Type {
	t := &Type{Shape: catalogue.Shape{
		Type: catalogue.String, Format: n.text("format"),
		MinLength: length(n, "minLength"), MaxLength: length(n, "maxLength"),
	}}
	if pattern := n.text("pattern"); pattern != "" {
		if _, err := regexp.Compile(pattern); err == nil { // the API server uses the same package
			t.Pattern = pattern
		}
	}
	for _, v := range n.list("enum") {
		s, ok := v.(string)
		if !ok {
			return &Type{} // an enum of other values
		}
		t.Enum = append(t.Enum, s)
	}
	slices.Sort(t.Enum)
	t.Enum = slices.Compact(t.Enum)
	return t
}

func numberType(n node) *Type {
	t := &Type{Shape: catalogue.Shape{Type: catalogue.Number}}
	if n.text("type") == "integer" {
		t.Type = catalogue.Integer
	}
	for key, bound := range map[string]**float64{"minimum": &t.Minimum, "maximum": &t.Maximum} {
		if v, ok := n[key].(float64); ok {
			*bound = &v
		}
	}
	return t
}

func length(n node, key string) int64 {
	v, _ := n[key].(float64)
	return int64(max(0, min(v, math.MaxInt32)))
}
