package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare returns the paths of the fields in which a resource differs from a body, such as
// properties.subnets[0].name, in the order of the body's keys. Compare ignores the fields that ARM adds. sent says
// that exactly this body was sent: a field that the resource lacks is then one that ARM never returns, such as a
// password.
func Compare(body, resource map[string]any, sent bool) []string {
	c := comparison{sent: sent}
	c.compare(body, resource, "")
	return c.paths
}

// comparison collects the differences for Compare.
type comparison struct {
	sent  bool
	paths []string
}

func (c *comparison) differ(path string) { c.paths = append(c.paths, strings.TrimPrefix(path, ".")) }

func (c *comparison) compare(want, have any, path string) {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			c.lacks(want, have, path)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			c.compare(w[key], valueOf(h, key), path+"."+key)
		}
	case []any:
		h, ok := have.([]any)
		if !ok {
			c.lacks(want, have, path)
			return
		}
		c.compareLists(w, h, path)
	default:
		if have == nil {
			c.lacks(want, have, path)
		} else if !sameScalar(want, have, path) {
			c.differ(path)
		}
	}
}

// lacks records a field that the resource lacks, or has in another form.
func (c *comparison) lacks(want, have any, path string) {
	if isEmpty(want) && have == nil || have == nil && c.sent {
		return
	}
	c.differ(path)
}

// compareLists compares items by their names, or else by their places.
func (c *comparison) compareLists(want, have []any, path string) {
	if len(want) != len(have) {
		c.differ(path)
		return
	}
	for i, item := range want {
		place := fmt.Sprintf("%s[%d]", path, i)
		other := have[i]
		if name, ok := nameIn(item); ok {
			at := slices.IndexFunc(have, func(h any) bool { n, _ := nameIn(h); return strings.EqualFold(n, name) })
			if at < 0 {
				c.differ(place)
				continue
			}
			other = have[at]
		}
		c.compare(item, other, place)
	}
}

func nameIn(item any) (string, bool) {
	m, _ := item.(map[string]any)
	name, ok := m["name"].(string)
	return name, ok && name != ""
}

// valueOf returns the value of a key, which may be an ARM id in another case.
func valueOf(m map[string]any, key string) any {
	if value, ok := m[key]; ok || !isID(key) {
		return value
	}
	for other, value := range m {
		if strings.EqualFold(other, key) {
			return value
		}
	}
	return nil
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return false
	}
}

func isID(text string) bool { return strings.HasPrefix(strings.ToLower(text), "/subscriptions/") }

// sameScalar compares as ARM does: ids in any case, names of resources and list items in any case, and
// locations as "West Europe" and "westeurope".
func sameScalar(want, have any, path string) bool {
	w, isText := want.(string)
	h, ok := have.(string)
	switch {
	case isText && ok && isID(w):
		return strings.EqualFold(w, h)
	case isText && ok && (path == ".name" || strings.HasSuffix(path, "].name")):
		return strings.EqualFold(w, h)
	case isText && ok && path == ".location":
		plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "")) }
		return plain(w) == plain(h)
	}
	a, isNumber := number(want)
	b, isOther := number(have)
	return want == have || isNumber && isOther && a == b
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	default:
		return 0, false
	}
}
