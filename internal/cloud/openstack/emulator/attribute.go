package emulator

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kind is the type of an attribute's value.
type kind int

const (
	text kind = iota // up to 255 characters
	longText
	flag
	number
	identifier // a UUID, or null
	list
	dict
	anything
)

// access has flags that say who may write or see an attribute, and whether in POST (create) or in
// PUT and PATCH (update).
type access int

const (
	create access = 1 << iota
	update
	required
	// admin: only an administrator may give the attribute another value than the default.
	admin
	// hidden: only an administrator sees the attribute.
	hidden
	// nullable: null is a value of its own, as in {"description": null}, and does not mean
	// the default.
	nullable

	cu = create | update
	ro = access(0)
)

// attribute describes one key of a resource.
type attribute struct {
	kind     kind
	access   access
	fallback any
}

type attributes map[string]attribute

// with returns both tables as one.
func (a attributes) with(more attributes) attributes {
	all := maps.Clone(a)
	maps.Copy(all, more)
	return all
}

var uuidPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// accept checks a request against the table: unknown and forbidden keys, types, missing keys.
// accept returns the converted values. strict refuses unknown keys, as Neutron does; other
// services drop or keep unknown keys.
func (a attributes) accept(rq *request, given object, now access) (object, error) {
	accepted := object{}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		attr, known := a[key]
		if !known || attr.access&now == 0 {
			if !rq.service.strict {
				continue
			}
			if known && now == update {
				return nil, invalid("Cannot update read-only attribute %s", key)
			}
			if known {
				return nil, invalid("Attribute '%s' not allowed in POST", key)
			}
			return nil, invalid("Unrecognized attribute(s) '%s'", key)
		}
		value, err := attr.convert(key, given[key])
		if err != nil {
			return nil, err
		}
		if attr.access&admin != 0 && !rq.token.admin() && !same(value, attr.fallback) {
			return nil, forbidden("(rule:%s:%s) is disallowed by policy", rq.Method, key)
		}
		accepted[key] = value
	}
	return accepted, nil
}

// complete adds the defaults and reports missing keys.
func (a attributes) complete(o object) error {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if _, given := o[key]; given {
			continue
		}
		if a[key].access&required != 0 {
			return invalid("Failed to parse request. Required attribute '%s' not specified", key)
		}
		o[key] = clone(a[key].fallback)
	}
	return nil
}

func (a attribute) convert(key string, value any) (any, error) {
	if value == nil {
		return a.null(key)
	}
	switch a.kind {
	case text:
		return toText(key, value, 255)
	case longText:
		return toText(key, value, 65535)
	case flag:
		return toFlag(key, value)
	case number:
		return toNumber(key, value)
	case identifier:
		if word, ok := value.(string); !ok || !uuidPattern.MatchString(word) {
			return nil, invalid("Invalid input for %s. Reason: '%v' is not a valid UUID.", key, value)
		}
		return value, nil
	case list:
		if _, ok := value.([]any); !ok {
			return nil, invalid("Invalid input for %s. Reason: '%v' is not a list.", key, value)
		}
		return value, nil
	case dict:
		if asObject(value) == nil {
			return nil, invalid("Invalid input for %s. Reason: '%v' is not a dictionary.", key, value)
		}
		return asObject(value), nil
	default:
		return value, nil
	}
}

// null is a value of some attributes, the default of others, and else refused.
func (a attribute) null(key string) (any, error) {
	switch {
	case a.access&nullable != 0 || a.kind == identifier || a.kind == anything:
		return nil, nil
	case a.access&required == 0 && a.kind != text && a.kind != longText && a.kind != flag:
		return clone(a.fallback), nil
	default:
		return nil, invalid("Invalid input for %s. Reason: 'None' is not a valid value.", key)
	}
}

func toText(key string, value any, limit int) (any, error) {
	word, ok := value.(string)
	if !ok || len([]rune(word)) > limit {
		return nil, invalid("Invalid input for %s. Reason: it must be a string of at most %d characters.", key, limit)
	}
	return word, nil
}

func toFlag(key string, value any) (any, error) {
	switch typed := value.(type) {
	case bool:
		return typed, nil
	case string:
		if parsed, err := strconv.ParseBool(strings.ToLower(typed)); err == nil {
			return parsed, nil
		}
	case float64:
		if typed == 0 || typed == 1 {
			return typed == 1, nil
		}
	}
	return nil, invalid("Invalid input for %s. Reason: '%v' cannot be converted to boolean.", key, value)
}

func toNumber(key string, value any) (any, error) {
	switch typed := value.(type) {
	case float64:
		if typed == float64(int(typed)) {
			return int(typed), nil
		}
	case string:
		if parsed, err := strconv.Atoi(typed); err == nil {
			return parsed, nil
		}
	}
	return nil, invalid("Invalid input for %s. Reason: '%v' is not an integer.", key, value)
}

// clone copies a value deeply, through its JSON.
func clone(value any) any {
	switch typed := value.(type) {
	case nil, bool, string, int, int64, float64:
		return typed
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil
	}
	var copied any
	if json.Unmarshal(raw, &copied) != nil {
		return nil
	}
	return copied
}

func same(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && string(one) == string(other)
}
