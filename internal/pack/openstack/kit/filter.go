package kit

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// criterion is one field that a filter sets.
type criterion struct {
	// name is the path of the JSON names, such as "ipv6.addressMode", and key the name that
	// OpenStack has for the field.
	name, key string
	// value is the text, number, bool or list of the field.
	value reflect.Value
}

// criteria returns the fields that the filter of an import or adoption sets, without references.
// Names replaces the snake case of a JSON name, as in [Table].
func criteria(obj external.Object, names map[string]string) []criterion {
	spec := reflect.ValueOf(obj).Elem().FieldByName("Spec")
	source := spec.FieldByName("Import")
	if source.IsNil() {
		source = spec.FieldByName("Adopt")
	}
	if source.IsNil() || source.Elem().FieldByName("Filter").IsNil() {
		return nil
	}
	return criteriaOf(source.Elem().FieldByName("Filter").Elem(), "", names)
}

func criteriaOf(filter reflect.Value, path string, names map[string]string) []criterion {
	var all []criterion
	for _, f := range reflect.VisibleFields(filter.Type()) {
		v, name := filter.FieldByIndex(f.Index), path+jsonName(f)
		if f.Anonymous || v.IsZero() || (v.Kind() == reflect.Slice && v.Len() == 0) || isReference(v.Type()) {
			continue
		}
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Struct {
			all = append(all, criteriaOf(v, name+".", names)...)
			continue
		}
		key, renamed := names[name]
		if !renamed {
			key = Snake(jsonName(f))
		}
		all = append(all, criterion{name, key, v})
	}
	return all
}

// isReference reports whether t is the type of a reference field, such as networkRef.
func isReference(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t == reflect.TypeFor[openstackv1alpha1.KubernetesNameRef]()
}

// checkLists refuses a comma in an item of a list that FilterQuery joins by commas. For the tag "a,b", the service
// would look for the tags a and b.
func (t *Table[K]) checkLists(in external.Input[K], query url.Values) error {
	for _, c := range criteria(in.Object, t.Names) {
		if c.value.Kind() != reflect.Slice || !query.Has(listKey(c)) {
			continue
		}
		for _, text := range textsBelow(c.value, nil) {
			if strings.Contains(text, ",") {
				return &external.Error{Class: external.Invalid, Message: fmt.Sprintf(
					"%s of the filter has %q: OpenStack would read several values, separated by commas", c.name, text)}
			}
		}
	}
	return nil
}

// listKey returns the query parameter of a criterion that is a list, such as tags-any.
func listKey(c criterion) string { return strings.ReplaceAll(c.key, "_", "-") }

// FilterQuery returns the query parameters for spec.import.filter: all fields of the filter
// that are not in [Table.Compared].
func (t *Table[K]) FilterQuery(in external.Input[K]) url.Values {
	query := url.Values{}
	for _, c := range criteria(in.Object, t.Names) {
		switch {
		case t.Unfiltered || slices.Contains(t.Compared, c.name):
		case c.value.Kind() != reflect.Slice:
			query.Set(c.key, fmt.Sprint(c.value.Interface()))
		default:
			query.Set(listKey(c), strings.Join(textsBelow(c.value, nil), ","))
		}
	}
	if t.Adapt != nil {
		t.Adapt(in, query)
	}
	t.References.addTo(query, in.Object, in.Refs)
	return query
}

// matches reports whether a listed resource has the values of the filter's fields in [Table.Compared].
func (t *Table[K]) matches(in external.Input[K], r *Resource) bool {
	return !slices.ContainsFunc(criteria(in.Object, t.Names), func(c criterion) bool {
		return slices.Contains(t.Compared, c.name) && !Always(c.key, c.value.Interface()).matches(r)
	})
}
