package azure

import (
	_ "embed" // for config.yaml
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// embedded answers the questions of the schemas that the embedded catalogue is made from.
//
//go:embed config.yaml
var embedded []byte

// Config answers what the schemas leave open. A property is named with up to two holders:
// "subnetId", "PoolConfiguration.subnetId" or "Microsoft.Batch/PoolConfiguration.subnetId", where
// PoolConfiguration is the definition with the property. The longest name wins, and
// "Microsoft.Batch/*" is after all others.
type Config struct {
	// Default are the schema files whose api-version is the default of their types. "FILE#DEFINITION" is
	// one type of a file.
	Default []string `json:"default,omitempty"`
	// Open are definitions in which any value is accepted, such as
	// schemas/2018-06-01/Microsoft.DataFactory.json#/definitions/Activity.
	Open []string `json:"open,omitempty"`
	// Owners are ARM types and the ARM types of their owners, where the owner has no schema.
	Owners map[string]string `json:"owners,omitempty"`
	// Kinds are ARM types and their kinds, where the rule gives no usable name.
	Kinds map[string]string `json:"kinds,omitempty"`
	// Singulars of the last segment of an ARM type, in lower case, where the rule is wrong.
	Singulars map[string]string `json:"singulars,omitempty"`
	// GUIDs are ARM types whose names are GUIDs.
	GUIDs []string `json:"guids,omitempty"`
	// Embedded are ARM types of children that stay in the body of their owner.
	Embedded []string `json:"embedded,omitempty"`
	// OpenEnums are properties whose enums lack values that Azure has.
	OpenEnums []string `json:"openEnums,omitempty"`
	// Plain are properties that look like ARM ids, and aren't.
	Plain []string `json:"plain,omitempty"`
	// IDs are properties that are ARM ids.
	IDs []string `json:"ids,omitempty"`
	// Maps are properties whose keys are ARM ids.
	Maps []string `json:"maps,omitempty"`
	// Targets are the ARM types that a property may refer to. An empty list allows all.
	Targets map[string][]string `json:"targets,omitempty"`
	// Qualifiers may stand before the name of a type in the name of a property: remote in
	// remoteVirtualNetwork.
	Qualifiers []string `json:"qualifiers,omitempty"`

	strict []string // the entries that have to be used, such as plain/tenantId
	used   map[string]bool
}

// DefaultConfig returns the Config for the embedded catalogue. Unused entries aren't reported, unless
// strict is true.
func DefaultConfig(strict bool) (*Config, error) {
	c, err := ParseConfig(embedded)
	if err == nil && !strict {
		c.strict = nil
	}
	return c, err
}

// ParseConfig reads a Config. Each of its entries has to be used.
func ParseConfig(text []byte) (*Config, error) {
	c := &Config{used: map[string]bool{}}
	if err := yaml.UnmarshalStrict(text, c); err != nil {
		return nil, fmt.Errorf("reading the config: %w", err)
	}
	c.strict = c.entries()
	return c, nil
}

// Add adds the entries of another Config, which win.
func (c *Config) Add(other *Config) {
	c.Default = append(c.Default, other.Default...)
	c.Open = append(c.Open, other.Open...)
	c.GUIDs = append(c.GUIDs, other.GUIDs...)
	c.Embedded = append(c.Embedded, other.Embedded...)
	c.OpenEnums = append(c.OpenEnums, other.OpenEnums...)
	c.Plain = append(c.Plain, other.Plain...)
	c.IDs = append(c.IDs, other.IDs...)
	c.Maps = append(c.Maps, other.Maps...)
	c.Qualifiers = append(c.Qualifiers, other.Qualifiers...)
	c.Owners = overlay(c.Owners, other.Owners)
	c.Kinds = overlay(c.Kinds, other.Kinds)
	c.Singulars = overlay(c.Singulars, other.Singulars)
	c.Targets = overlay(c.Targets, other.Targets)
	c.strict = append(c.strict, other.strict...)
}

func overlay[V any](a, b map[string]V) map[string]V {
	if a == nil {
		return b
	}
	maps.Copy(a, b)
	return a
}

// entries returns the names of all entries, sorted.
func (c *Config) entries() []string {
	var all []string
	for section, names := range map[string][]string{
		"default": c.Default, "open": c.Open, "guids": c.GUIDs,
		"embedded": c.Embedded, "openEnums": c.OpenEnums, "plain": c.Plain,
		"ids": c.IDs, "maps": c.Maps, "qualifiers": c.Qualifiers,
		"owners": slices.Collect(maps.Keys(c.Owners)), "kinds": slices.Collect(maps.Keys(c.Kinds)),
		"singulars": slices.Collect(maps.Keys(c.Singulars)), "targets": slices.Collect(maps.Keys(c.Targets)),
	} {
		for _, name := range names {
			all = append(all, section+"/"+name)
		}
	}
	slices.Sort(all)
	return all
}

// unused returns the entries that answered no question.
func (c *Config) unused() []string {
	return slices.DeleteFunc(slices.Clone(c.strict), func(entry string) bool { return c.used[entry] })
}

func (c *Config) has(section string, names []string, name string) bool {
	if !slices.Contains(names, name) {
		return false
	}
	c.used[section+"/"+name] = true
	return true
}

func (c *Config) isDefault(path, definition string) bool {
	return c.has("default", c.Default, path) || c.has("default", c.Default, path+"#"+definition)
}

func (c *Config) isOpen(definition string) bool { return c.has("open", c.Open, definition) }

func (c *Config) isGUID(armType string) bool { return c.has("guids", c.GUIDs, armType) }

func (c *Config) isEmbedded(armType string) bool { return c.has("embedded", c.Embedded, armType) }

func lookup[V any](c *Config, section string, m map[string]V, name string) (V, bool) {
	value, ok := m[name]
	if ok {
		c.used[section+"/"+name] = true
	}
	return value, ok
}

// propertyNames returns the names of a property, the longest first.
func propertyNames(armType, definition, property string) []string {
	provider, _, _ := strings.Cut(armType, "/")
	if definition == "" {
		return []string{armType + "." + property, property, provider + "/*"}
	}
	return []string{provider + "/" + definition + "." + property, definition + "." + property, property, provider + "/*"}
}

// isID returns whether a property is an ARM id, if an entry of plain or ids says so.
func (c *Config) isID(names []string) (is, answered bool) {
	for _, name := range names {
		if c.has("ids", c.IDs, name) {
			return true, true
		}
		if c.has("plain", c.Plain, name) {
			return false, true
		}
	}
	return false, false
}

// isOpenEnum tells whether an entry of openEnums names the property.
func (c *Config) isOpenEnum(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c.has("openEnums", c.OpenEnums, name) })
}

// targetsOf returns the entry of targets for a property.
func (c *Config) targetsOf(names []string) ([]string, bool) {
	for _, name := range names {
		if types, ok := lookup(c, "targets", c.Targets, name); ok {
			return types, true
		}
	}
	return nil, false
}
