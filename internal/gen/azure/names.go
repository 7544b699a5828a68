package azure

import (
	"fmt"
	"strings"
	"unicode"
)

// setNames finds the kind of each resource: the segments of the type, the last one in the singular.
// virtualNetworks/subnets is the kind VirtualNetworksSubnet with the plural virtualnetworkssubnets. A
// resource whose name is taken or too long is refused.
func setNames(m Model, config *Config) (Model, error) {
	taken := map[string]string{} // the lower-case type by lower-case kind and plural in a group
	out := Model{Refusals: m.Refusals, Counts: m.Counts}
	for _, r := range m.Resources {
		_, types, _ := strings.Cut(r.Type, "/")
		kind, configured := lookup(config, "kinds", config.Kinds, r.Type)
		r.Kind.Kind, r.Plural = kindOf(types, config)
		if configured {
			r.Kind.Kind, r.Plural = kind, pluralOf(kind)
		}
		r.GUIDName = config.isGUID(r.Type)
		lower := strings.ToLower(r.Type)
		free := true
		for _, name := range []string{r.Group + "/kind/" + strings.ToLower(r.Kind.Kind), r.Group + "/" + r.Plural} {
			if other, ok := taken[name]; ok && other != lower {
				free = false
				out.refuse(r, fmt.Sprintf("the name %s is also that of %s: choose a kind in the config: kinds: {%s: KIND}",
					r.Kind.Kind, other, r.Type))
				break
			}
			taken[name] = lower
		}
		if free && len(r.Plural) > 63 {
			free = false
			out.refuse(r, fmt.Sprintf("the name %s has more than 63 letters: choose a kind in the config: kinds: {%s: KIND}",
				r.Plural, r.Type))
		}
		if free {
			out.Resources = append(out.Resources, r)
		}
	}
	return out, nil
}

func kindOf(types string, config *Config) (kind, plural string) {
	segments := strings.Split(types, "/")
	for i, segment := range segments {
		segment = strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, segment)
		plural += strings.ToLower(segment)
		if i == len(segments)-1 {
			segment = config.singular(segment)
		}
		kind += upperFirst(segment)
	}
	return kind, plural
}

// pluralOf returns the plural of a kind that the config names.
func pluralOf(kind string) string {
	lower := strings.ToLower(kind)
	if stem, ok := strings.CutSuffix(lower, "y"); ok {
		return stem + "ies"
	}
	return lower + "s"
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// singular returns the singular of an English word.
func (c *Config) singular(word string) string {
	lower := strings.ToLower(word)
	if s, ok := lookup(c, "singulars", c.Singulars, lower); ok {
		if strings.HasPrefix(lower, s) {
			return word[:len(s)]
		}
		return s
	}
	cut := func(suffix, with string) (string, bool) {
		return word[:max(0, len(word)-len(suffix))] + with, strings.HasSuffix(lower, suffix)
	}
	for _, rule := range [][2]string{
		{"ies", "y"},
		{"sses", "ss"},
		{"shes", "sh"},
		{"ches", "ch"},
		{"xes", "x"},
		{"ss", "ss"},
		{"us", "us"},
		{"is", "is"},
		{"s", ""},
	} {
		if out, ok := cut(rule[0], rule[1]); ok && out != "" {
			if rule[0] == rule[1] {
				return word
			}
			return out
		}
	}
	return word
}

// sameWord tells whether two names are the same in the singular.
func (c *Config) sameWord(a, b string) bool { return strings.EqualFold(c.singular(a), c.singular(b)) }

// lastSegment of an ARM type.
func lastSegment(armType string) string { return armType[strings.LastIndex(armType, "/")+1:] }
