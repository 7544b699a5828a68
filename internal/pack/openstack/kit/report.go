package kit

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Borders between the words of a name in camel case.
var (
	afterLower = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	afterUpper = regexp.MustCompile(`([A-Z]+)([A-Z][a-z])`)
	plurals    = strings.NewReplacer("IPs", "Ips", "IDs", "Ids")
)

// Snake returns a name in the spelling of OpenStack: projectID is project_id.
func Snake(name string) string {
	name = afterLower.ReplaceAllString(plurals.Replace(name), "${1}_${2}")
	return strings.ToLower(afterUpper.ReplaceAllString(name, "${1}_${2}"))
}

// Longest strings and lists in a status. Report cuts longer values: with a value that exceeds
// its maxLength, the API server would refuse the whole status.
const (
	LongestText = 1024
	LongestList = 256
)

// unordered are the lists that are sets.
var unordered = []string{"tags", "subnets", "security_groups"}

// Report copies the fields of a resource into a status. The OpenStack name of a status field is
// its JSON name in snake case, unless names has another name for the path of the field, such as
// fixedIPs.ip. A value that does not fit the Go type of its field is left out: a string is no
// number. Pairs such as metadata fit a list of structs with two fields.
//
// A field that the resource lacks is left out if its JSON tag has omitempty, and has the zero
// value otherwise. An example is the domain of a Role, which is "" for most roles.
func Report(r *Resource, into any, names map[string]string) {
	report(r.Fields, reflect.ValueOf(into).Elem(), "", names)
}

func report(fields map[string]any, into reflect.Value, path string, names map[string]string) {
	for i := range into.NumField() {
		field := into.Type().Field(i)
		if field.Anonymous {
			report(fields, into.Field(i), path, names)
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		key, ok := names[path+name]
		if !ok {
			key = Snake(name)
		}
		value := fields[key]
		if key == "" { // The parts of the field are fields of the resource itself.
			value = fields
		}
		if value != nil {
			set(into.Field(i), value, path+name+".", names)
		}
		if options == "" {
			showZero(into.Field(i))
		}
		if texts, ok := reflect.TypeAssert[[]string](into.Field(i)); ok && slices.Contains(unordered, key) {
			slices.Sort(texts) // OpenStack returns them in another order each time.
		}
	}
}

// showZero sets a nil pointer to a zero value.
func showZero(field reflect.Value) {
	if field.Kind() == reflect.Pointer && field.IsNil() {
		field.Set(reflect.New(field.Type().Elem()))
	}
}

// NonZero returns n, or nil if n is 0.
func NonZero(n *int32) *int32 {
	if n == nil || *n == 0 {
		return nil
	}
	return n
}

func set(into reflect.Value, value any, path string, names map[string]string) {
	target := into.Type()
	if target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	nested, isMap := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case isMap && target.Kind() == reflect.Struct && target.PkgPath() != "k8s.io/apimachinery/pkg/apis/meta/v1":
		part := reflect.New(target)
		report(nested, part.Elem(), path, names)
		if into.Kind() == reflect.Pointer {
			into.Set(part)
			return
		}
		into.Set(part.Elem())
	case isMap && isPairs(target):
		into.Set(pairs(nested, target))
	case isList && target.Kind() == reflect.Slice:
		items := reflect.MakeSlice(target, 0, len(list))
		for _, item := range list[:min(len(list), LongestList)] {
			one := reflect.New(target.Elem()).Elem()
			set(one, item, path, names)
			items = reflect.Append(items, one)
		}
		into.Set(items)
	default:
		leaf(into, value)
	}
}

// isPairs reports whether a type is a list of pairs, such as FlavorExtraSpecStatus with Name and Value.
func isPairs(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem().NumField() == 2 &&
		t.Elem().Field(1).Name == "Value"
}

// pairs returns a map of texts as a list of structs with a key and a value, ordered by key.
func pairs(object map[string]any, list reflect.Type) reflect.Value {
	all := reflect.MakeSlice(list, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if value, ok := object[key].(string); ok && key != markerKey && all.Len() < LongestList {
			pair := reflect.New(list.Elem()).Elem()
			pair.Field(0).SetString(Cut(key, LongestText))
			pair.Field(1).SetString(Cut(value, LongestText))
			all = reflect.Append(all, pair)
		}
	}
	return all
}

// Pairs returns a list of structs with a key and a value, such as FlavorExtraSpec, as a map.
func Pairs[T any](list []T) map[string]string {
	all := map[string]string{}
	for _, item := range list {
		pair := reflect.ValueOf(item)
		all[pair.Field(0).String()] = pair.Field(1).String()
	}
	return all
}

// Moment parses a time. Cinder and Keystone return UTC without a zone.
func Moment(value any) (time.Time, bool) {
	text, ok := value.(string)
	if !ok {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05", text)
	}
	return at, err == nil
}

// Cut cuts a string to a number of bytes.
func Cut(text string, longest int) string {
	if len(text) <= longest || !utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "")
}

// leaf sets a value, if its type fits.
func leaf(into reflect.Value, value any) {
	if text, ok := value.(string); ok {
		value = Cut(text, LongestText)
	}
	if at, ok := Moment(value); ok && into.Type() == reflect.TypeFor[*metav1.Time]() {
		value = at
	}
	text, err := json.Marshal(value)
	if err != nil {
		return
	}
	read := reflect.New(into.Type())
	if json.Unmarshal(text, read.Interface()) == nil {
		into.Set(read.Elem())
	}
}
