package catalogue

import (
	"fmt"
	"strconv"
	"strings"
)

// Rest is a value in an ARM body that the shape doesn't know, such as null or a property of a later
// api-version.
type Rest struct {
	// Path in the ARM body is a JSON pointer, such as /properties/dhcpOptions.
	Path string
	// Value may be nil, for null.
	Value any
}

// NamePath is the Path of a Rest that sets the name in the body.
const NamePath = "/name"

// SetRest writes spec.raw. In it an entry without a value stands for null, because the API server may
// drop a null.
func SetRest(spec map[string]any, rest []Rest) {
	if len(rest) == 0 {
		delete(spec, RawField)
		return
	}
	raw := make([]any, len(rest))
	for i, r := range rest {
		entry := map[string]any{"path": r.Path}
		if r.Value != nil {
			entry["value"] = deepCopy(r.Value)
		}
		raw[i] = entry
	}
	spec[RawField] = raw
}

// putRest sets the entries of spec.raw in the body.
func (c *converter) putRest(body map[string]any, raw any) {
	entries, ok := raw.([]any)
	if !ok && raw != nil {
		c.fail("."+RawField, "want a list instead of %s", typeName(raw))
	}
	for i, e := range entries {
		place := "." + RawField + "[" + strconv.Itoa(i) + "]"
		entry, _ := e.(map[string]any)
		path, _ := entry["path"].(string)
		if !strings.HasPrefix(path, "/") {
			c.fail(place, "want a path that starts with a slash, such as /properties/dhcpOptions")
			continue
		}
		if err := setPointer(body, strings.Split(path[1:], "/"), deepCopy(entry["value"])); err != nil {
			c.fail(place, "setting %s: %w", path, err)
		}
	}
}

// setPointer sets the value at a JSON pointer. It makes missing objects, but no items of lists.
func setPointer(at any, path []string, value any) error {
	key := unescape(path[0])
	switch holder := at.(type) {
	case map[string]any:
		if len(path) == 1 {
			holder[key] = value
			return nil
		}
		if _, ok := holder[key]; !ok {
			holder[key] = map[string]any{}
		}
		return setPointer(holder[key], path[1:], value)
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(holder) {
			return fmt.Errorf("the list has no item %s", key)
		}
		if len(path) == 1 {
			holder[i] = value
			return nil
		}
		return setPointer(holder[i], path[1:], value)
	default:
		return fmt.Errorf("%s is in %s", key, typeName(at))
	}
}

var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~1", "/", "~0", "~")
)

func escape(key string) string   { return escaper.Replace(key) }
func unescape(key string) string { return unescaper.Replace(key) }
