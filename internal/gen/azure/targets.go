package azure

import (
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// targets knows what the name of a property may refer to.
type targets struct {
	config *Config
	words  map[string][]string // ARM types by provider and the singular of the last segment, in lower case
	parts  map[string][]catalogue.Target
	own    []catalogue.Target // the parts of the resource whose properties are looked up, and of its owner
}

// newTargets collects the names of all types, and of their parts.
func newTargets(m Model, config *Config) targets {
	t := targets{config: config, words: map[string][]string{}, parts: map[string][]catalogue.Target{}}
	for _, r := range m.Resources {
		word := config.singular(lastSegment(r.Type))
		names := []string{word}
		if parent, nested := parentOf(r.Type); nested { // inboundNatRule, loadBalancerInboundNatRule
			names = append(names, config.singular(lastSegment(parent))+word)
		}
		for _, name := range names {
			t.words[wordKey(r.Type, name)] = append(t.words[wordKey(r.Type, name)], r.Type)
		}
		for _, part := range partsOf(r) {
			key := wordKey(r.Type, word+config.singular(part.Part))
			t.parts[key] = append(t.parts[key], part)
			key = strings.ToLower(r.Type + "@" + r.APIVersion)
			t.parts[key] = append(t.parts[key], part)
		}
	}
	return t
}

// wordKey is the key of a word in the provider of an ARM type.
func wordKey(armType, word string) string {
	provider, _, _ := strings.Cut(armType, "/")
	return strings.ToLower(provider + "/" + word)
}

// ownParts returns the parts of a resource, and those of its owner.
func (t targets) ownParts(r Resource) []catalogue.Target {
	own := t.parts[strings.ToLower(r.Type+"@"+r.APIVersion)]
	return slices.Concat(own, t.parts[strings.ToLower(r.Owner+"@"+r.APIVersion)])
}

// partsOf returns the lists in the properties of a resource whose items have a name and properties, such as
// frontendIPConfigurations. ARM ids lead to such items.
func partsOf(r Resource) []catalogue.Target {
	properties := r.Body.properties()
	if properties == nil {
		return nil
	}
	var parts []catalogue.Target
	for _, p := range properties.Props {
		if p.Type.Type == catalogue.List && p.Type.Element.prop("name") != nil && p.Type.Element.prop("properties") != nil {
			parts = append(parts, catalogue.Target{Type: r.Type, Part: p.ARM})
		}
	}
	return parts
}

// find returns the types to which a property of a resource may refer. names are the property's names, and word
// is the short one of these. No type means any type.
func (t targets) find(armType, word string, names []string) []catalogue.Target {
	if types, ok := t.config.targetsOf(names); ok {
		return configured(armType, types)
	}
	stem := t.stem(word)
	if found := t.named(armType, stem); len(found) > 0 {
		return found
	}
	if types, ok := t.config.targetsOf([]string{stem}); ok {
		return configured(armType, types)
	}
	for _, q := range t.config.Qualifiers {
		rest, ok := strings.CutPrefix(stem, q)
		if !ok || rest == "" || strings.ToUpper(rest[:1]) != rest[:1] {
			continue
		}
		found := t.named(armType, rest)
		if len(found) == 0 {
			types, _ := t.config.targetsOf([]string{lowerFirst(rest)})
			found = configured(armType, types)
		}
		if len(found) > 0 {
			t.config.used["qualifiers/"+q] = true
			return found
		}
	}
	return nil
}

// named returns the part of the resource, the types of its provider, or the parts of these, that are called
// by a word.
func (t targets) named(armType, word string) []catalogue.Target {
	for _, own := range t.own {
		if t.config.sameWord(own.Part, word) {
			return []catalogue.Target{own}
		}
	}
	var found []catalogue.Target
	for _, other := range t.words[wordKey(armType, word)] {
		found = append(found, catalogue.Target{Type: other})
	}
	return distinct(append(found, t.parts[wordKey(armType, word)]...))
}

// stem returns the name of a property without what says that it is an id: subnet for subnetResourceIds.
func (t targets) stem(word string) string {
	if idName.MatchString(word) {
		word = strings.TrimSuffix(word, "s")
		word = word[:len(word)-len("id")]
	}
	for _, suffix := range []string{"Resource", "ARM", "Arm", "Reference"} {
		if stem := strings.TrimSuffix(word, suffix); stem != "" {
			word = stem
		}
	}
	return t.config.singular(word)
}

// configured returns the targets of an entry of the config, such as "Microsoft.Network/loadBalancers#probes".
// An entry that starts with "#" names a part of the resource itself.
func configured(armType string, entries []string) []catalogue.Target {
	found := make([]catalogue.Target, 0, len(entries))
	for _, e := range entries {
		target, part, _ := strings.Cut(e, "#")
		if target == "" {
			target = armType
		}
		found = append(found, catalogue.Target{Type: target, Part: part})
	}
	return distinct(found)
}

func distinct(found []catalogue.Target) []catalogue.Target {
	slices.SortFunc(found, func(a, b catalogue.Target) int {
		return strings.Compare(a.Type+"#"+a.Part, b.Type+"#"+b.Part)
	})
	return slices.Compact(found)
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
