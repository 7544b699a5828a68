package reference

import (
	"fmt"
	"strings"
)

// typeOf returns the type of a field as text, such as "list of string".
func typeOf(s schema) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return "list of " + typeOf(*s.Items.Schema)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(*s.AdditionalProperties.Schema)
	case s.Format != "":
		return fmt.Sprintf("%s (%s)", s.Type, s.Format)
	case s.Type == "":
		return "any"
	default:
		return s.Type
	}
}

// rulesOf returns the validation rules of a field, such as "required".
func rulesOf(s schema, required bool) []string {
	var rules []string
	if required {
		rules = append(rules, "required")
	}
	if s.Default != nil {
		rules = append(rules, fmt.Sprintf("default `%s`", s.Default.Raw))
	}
	if len(s.Enum) > 0 {
		values := make([]string, 0, len(s.Enum))
		for _, value := range s.Enum {
			values = append(values, fmt.Sprintf("`%s`", value.Raw))
		}
		rules = append(rules, strings.Join(values, ", "))
	}
	rules = append(rules, bounds(s.MinLength, s.MaxLength, "character", "characters")...)
	rules = append(rules, bounds(s.MinItems, s.MaxItems, "item", "items")...)
	rules = append(rules, bounds(s.MinProperties, s.MaxProperties, "property", "properties")...)
	rules = append(rules, bounds(s.Minimum, s.Maximum, "", "")...)
	if s.Pattern != "" {
		rules = append(rules, fmt.Sprintf("pattern `%s`", s.Pattern))
	}
	if s.XListType != nil && *s.XListType == "map" {
		rules = append(rules, "one item for each "+strings.Join(s.XListMapKeys, ", "))
	}
	if s.XListType != nil && *s.XListType == "set" {
		rules = append(rules, "no item twice")
	}
	for _, rule := range s.XValidations {
		text := rule.Message
		if text == "" {
			text = "`" + rule.Rule + "`"
		}
		rules = append(rules, text)
	}
	return rules
}

// bounds returns the rule for a range, such as "1 to 64 characters". A nil bound leaves that end
// open. The parameters `one` and `many` are the unit in singular and plural.
func bounds[T int64 | float64](least, most *T, one, many string) []string {
	unit := func(n T) string {
		if n == 1 {
			return one
		}
		return many
	}
	var text string
	switch {
	case least == nil && most == nil:
		return nil
	case least == nil:
		text = fmt.Sprintf("at most %v %s", *most, unit(*most))
	case most == nil:
		text = fmt.Sprintf("at least %v %s", *least, unit(*least))
	case *least == *most:
		text = fmt.Sprintf("%v %s", *least, unit(*least))
	default:
		text = fmt.Sprintf("%v to %v %s", *least, *most, unit(*most))
	}
	return []string{strings.TrimSpace(text)}
}
