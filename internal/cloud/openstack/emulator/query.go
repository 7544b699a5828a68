package emulator

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// notFilters are the keys of a query that choose nothing.
var notFilters = []string{
	"limit", "marker", "offset", "page_reverse", "fields", "sort_key", "sort_dir", "sort",
	"all_tenants",
}

// tagFilters are the four filters by tags, which Nova and Neutron spell alike.
var tagFilters = map[string]func(have, want []string) bool{
	"tags":         containsAll,
	"tags-any":     containsAny,
	"not-tags":     func(have, want []string) bool { return !containsAll(have, want) },
	"not-tags-any": func(have, want []string) bool { return !containsAny(have, want) },
}

func containsAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(tag string) bool { return !slices.Contains(have, tag) })
}

func containsAny(have, want []string) bool {
	return slices.ContainsFunc(want, func(tag string) bool { return slices.Contains(have, tag) })
}

// matches compares an object with the filters of the query: a key given several times means any of
// its values. Keys that are no attributes, such as ?limit, are ignored.
func (rq *request) matches(o object, attrs attributes) bool {
	for key, values := range rq.URL.Query() {
		if slices.Contains(notFilters, key) {
			continue
		}
		if test, ok := tagFilters[key]; ok {
			if !test(o.strings("tags"), strings.Split(strings.Join(values, ","), ",")) {
				return false
			}
			continue
		}
		_, known := attrs[key]
		value, has := o[key]
		if !known && !has {
			continue
		}
		is := func(want string) bool { return equals(value, want) }
		if key == "fixed_ips" { // Subnet and address together, the only filter of this kind.
			if slices.ContainsFunc(values, func(want string) bool { return !is(want) }) {
				return false
			}
		} else if !slices.ContainsFunc(values, is) {
			return false
		}
	}
	return true
}

// equals compares a value with a text of the query, as in ?admin_state_up=True.
func equals(value any, want string) bool {
	switch typed := value.(type) {
	case nil:
		return want == ""
	case bool:
		parsed, err := strconv.ParseBool(strings.ToLower(want))
		return err == nil && parsed == typed
	case []any:
		return slices.ContainsFunc(typed, func(element any) bool { return equals(element, want) })
	case object, map[string]any:
		return within(asObject(value), want)
	default:
		return fmt.Sprint(typed) == want
	}
}

// within is for lists of objects, as in fixed_ips=subnet_id=ID.
func within(o object, want string) bool {
	key, inner, ok := strings.Cut(want, "=")
	return ok && equals(o[key], inner)
}

// page returns the part of a list after ?marker, at most ?limit objects, and the address of the
// next page.
func (rq *request) page(all []object, perPage int) (page []object, next string, err error) {
	query := rq.URL.Query()
	if marker := query.Get("marker"); marker != "" {
		i := slices.IndexFunc(all, func(o object) bool { return o.id() == marker || o.str("name") == marker })
		if i < 0 {
			return nil, "", invalid("marker [%s] not found", marker)
		}
		all = all[i+1:]
	}
	if text := query.Get("offset"); text != "" {
		skip, err := strconv.Atoi(text)
		if err != nil || skip < 0 {
			return nil, "", invalid("offset param must be a non-negative integer")
		}
		all = all[min(skip, len(all)):]
	}
	limit := perPage
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return nil, "", invalid("limit param must be a non-negative integer")
		}
	}
	if limit == 0 || len(all) <= limit {
		return all, "", nil
	}
	all = all[:limit]
	query.Set("marker", all[limit-1].id())
	return all, rq.address(query), nil
}

func (rq *request) address(query url.Values) string {
	return rq.cloud.URL() + rq.URL.Path + "?" + query.Encode()
}

// linkList is how Neutron, Nova and Cinder announce the next page.
func linkList(answer object, plural, next string) {
	if next != "" {
		answer[plural+"_links"] = anys(object{"rel": "next", "href": next})
	}
}
