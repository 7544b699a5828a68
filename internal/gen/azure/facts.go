package azure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// Facts are the scopes, the secrets, the read-only places and the actions of a type. The deployment schemas lack these.
type Facts struct {
	// Type is the ARM type. APIVersion may differ from the api-version of the schema: a fact is true of each version
	// that has the path of the fact.
	Type       string `json:"type"`
	APIVersion string `json:"apiVersion"`
	// Scopes has a bit of factScopes for each place where a resource may be created. Zero is not known.
	Scopes int `json:"scopes"`
	// ReadOnly and Sensitive are paths such as properties.rules[*].id, in which [*] is each element of a list, and .*
	// each key of a map.
	ReadOnly  []string `json:"readOnly"`
	Sensitive []string `json:"sensitive"`
	// Functions are POST requests whose answer tells something.
	Functions []Function `json:"functions"`
}

// Function is a POST request, and the paths of its answer that are secrets.
type Function struct {
	Name   string   `json:"name"`
	Secret []string `json:"secret"`
}

// factScopes are the bits of Facts.Scopes, the lowest first.
var factScopes = []catalogue.Scope{
	catalogue.TenantScope, catalogue.ManagementGroupScope, catalogue.SubscriptionScope, catalogue.ResourceGroupScope,
	catalogue.ExtensionScope,
}

// AddFacts adds the content of a file of facts: one JSON object a line, one for each type.
func (l *Library) AddFacts(text []byte) error {
	lines := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var f Facts
		err := lines.Decode(&f)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = l.addFacts(f)
		}
		if err != nil {
			return fmt.Errorf("reading facts, object %d: %w", n, err)
		}
	}
}

func (l *Library) addFacts(f Facts) error {
	if err := f.check(); err != nil {
		return err
	}
	key := strings.ToLower(f.Type)
	if _, again := l.facts[key]; again {
		return fmt.Errorf("the type %s is there twice", f.Type)
	}
	l.facts[key] = f
	return nil
}

func (f Facts) check() error {
	if !typeText.MatchString(f.Type) {
		return fmt.Errorf("%q is no ARM type", f.Type)
	}
	if f.Scopes < 0 || f.Scopes >= 1<<len(factScopes) {
		return fmt.Errorf("the scopes %d of %s have a bit that no scope has", f.Scopes, f.Type)
	}
	all := slices.Concat(f.ReadOnly, f.Sensitive)
	for _, function := range f.Functions {
		if function.Name == "" || strings.ContainsAny(function.Name, "/?#") {
			return fmt.Errorf("%q of %s is no name of an action", function.Name, f.Type)
		}
		all = append(all, function.Secret...)
	}
	for _, path := range all {
		if slices.Contains(strings.Split(string(pathOf(path)), "/")[1:], "") {
			return fmt.Errorf("%q of %s is no path such as properties.rules[*].id", path, f.Type)
		}
	}
	return nil
}

// scopes returns the scopes that facts name, or nothing.
func (f Facts) scopes() (all catalogue.Scope) {
	for i, scope := range factScopes {
		if f.Scopes&(1<<i) != 0 {
			all |= scope
		}
	}
	return all
}

// pathOf returns the Path of properties.rules[*].id: /properties/rules/*/id.
func pathOf(text string) catalogue.Path {
	return catalogue.Path("/" + strings.NewReplacer(".", "/", "[*]", "/*").Replace(text))
}

// pathsOf returns Paths, sorted.
func pathsOf(texts []string) []catalogue.Path {
	all := make([]catalogue.Path, 0, len(texts))
	for _, text := range texts {
		all = append(all, pathOf(text))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// addTo sets the scopes, the paths and the actions of a resource.
func (f Facts) addTo(r *Resource) {
	if scopes := f.scopes(); scopes != 0 {
		r.Scopes = scopes
	}
	r.ReadOnly, r.Sensitive = pathsOf(f.ReadOnly), pathsOf(f.Sensitive)
	for _, function := range f.Functions {
		r.Actions = append(r.Actions, catalogue.Action{Name: function.Name, Sensitive: pathsOf(function.Secret)})
	}
	r.Lacking = r.lacks(r.Sensitive)
	slices.SortFunc(r.Actions, func(a, b catalogue.Action) int { return strings.Compare(a.Name, b.Name) })
}

// lacks returns the paths that the schema of a resource does not have.
func (r *Resource) lacks(paths []catalogue.Path) []catalogue.Path {
	return slices.DeleteFunc(slices.Clone(paths), func(p catalogue.Path) bool {
		return r.Body.at(strings.Split(string(p), "/")[1:]) != nil
	})
}

// at returns the type of the value at the end of a path, or nil.
func (t *Type) at(path []string) *Type {
	for _, segment := range path {
		switch {
		case t == nil:
			return nil
		case segment == "*" && t.Type != catalogue.Object:
			t = t.Element
		default:
			p := t.prop(segment)
			if p == nil {
				return nil
			}
			t = p.Type
		}
	}
	return t
}

// setSecrets changes the Type at each path of Resource.Sensitive to a Secret. If an object is a Secret, the fields of
// the object are in the value of the Secret: the credentials of a notification hub. An ARM id stays a reference,
// because an id gives nobody a right.
func setSecrets(m Model, _ *Config) (Model, error) {
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		r.Sensitive = slices.DeleteFunc(slices.Clone(r.Sensitive), func(p catalogue.Path) bool {
			t := r.Body.at(strings.Split(string(p), "/")[1:])
			return t != nil && (t.Type == catalogue.ID || t.Type == catalogue.IDObject)
		})
		for _, path := range r.Sensitive { // In order: the outer value comes first.
			r.Body = r.Body.replace(strings.Split(string(path), "/")[1:], func(t *Type) *Type {
				return &Type{Shape: catalogue.Shape{Type: catalogue.Secret, Open: t.Type != catalogue.String}}
			})
		}
		out.Resources = append(out.Resources, r)
	}
	return out, nil
}

// replace returns t with another type at the end of a path, or t if t does not have the path.
func (t *Type) replace(path []string, with func(*Type) *Type) *Type {
	if len(path) == 0 {
		return with(t)
	}
	if path[0] == "*" && t.Type != catalogue.Object {
		if t.Element == nil {
			return t
		}
		changed := *t
		changed.Element = t.Element.replace(path[1:], with)
		return &changed
	}
	at := slices.IndexFunc(t.Props, func(p Prop) bool { return p.ARM == path[0] })
	if at < 0 {
		return t
	}
	props := slices.Clone(t.Props)
	props[at].Type = props[at].Type.replace(path[1:], with)
	return t.with(props)
}
