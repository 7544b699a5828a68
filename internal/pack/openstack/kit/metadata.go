package kit

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/external"
)

// markerKey is the metadata key for the UID of the object that a resource was created for. A
// status does not show this key.
const markerKey = "kinship-uid"

// MetadataField is the field with pairs of strings.
const MetadataField = "metadata"

// textMark precedes the UID in a field that is a single string.
const textMark = markerKey + " "

// uidPattern is the format of metadata.uid.
var uidPattern = regexp.MustCompile(`^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$`)

// Mark adds the UID of an object to the wanted metadata of its resource.
func Mark(obj external.Object, metadata any) map[string]any {
	pairs, _ := normal(metadata).(map[string]any)
	marked := map[string]any{markerKey: string(obj.GetUID())}
	for key, value := range pairs {
		if key != markerKey {
			marked[key] = value
		}
	}
	return marked
}

// marker returns the UID in the mark of a resource, or "".
func (t *Table[K]) marker(r *Resource) types.UID {
	switch t.Marked {
	case "":
		return ""
	case MetadataField:
		uid, _ := r.Map(MetadataField)[markerKey].(string)
		return types.UID(uid)
	}
	uid, isMark := strings.CutPrefix(r.String(t.Marked), textMark)
	if !isMark || !uidPattern.MatchString(uid) { // A user may have written any other text.
		return ""
	}
	return types.UID(uid)
}

// hasTextMark reports whether the field [Table.Marked] still has the mark instead of the text of the
// spec.
func (t *Table[K]) hasTextMark(r *Resource) bool {
	return t.Marked != MetadataField && t.marker(r) != ""
}

// withoutMark returns a resource with an empty text instead of the mark, for status.resource.
func (t *Table[K]) withoutMark(r *Resource) *Resource {
	if !t.hasTextMark(r) {
		return r
	}
	r = &Resource{maps.Clone(r.Fields)} // Other callers may share the resource of a list.
	r.Fields[t.Marked] = ""
	return r
}

// Difference returns the values that are wanted and missing, and those that are there and not wanted.
func Difference[T any](have, want []T, same func(a, b T) bool) (add, remove []T) {
	without := func(values, others []T) []T {
		return slices.DeleteFunc(slices.Clone(values), func(v T) bool {
			return slices.ContainsFunc(others, func(other T) bool { return same(v, other) })
		})
	}
	return without(want, have), without(have, want)
}

// Unlike returns the wanted pairs that are missing or different, and the keys that are not
// wanted. Unlike ignores markerKey.
func Unlike(r *Resource, name string, wanted map[string]string) (set map[string]string, unset []string) {
	have := r.Map(name)
	set = map[string]string{}
	for key, value := range wanted {
		if have[key] != value && key != markerKey {
			set[key] = value
		}
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, ok := wanted[key]; !ok && key != markerKey {
			unset = append(unset, key)
		}
	}
	return set, unset
}

// SpecsField is the field with extra specs, and their name in the result of [Table.Differs].
const SpecsField = "extra_specs"

// updateSpecs changes the extra specs of a resource: one POST for all that are missing or different, and
// one DELETE for each that is not wanted.
func (a Actuator[K]) updateSpecs(ctx context.Context, in external.Input[K], r *Resource) error {
	id := r.String("id")
	set, unset := Unlike(r, SpecsField, a.Specs(in.Object))
	if len(set) > 0 {
		body := map[string]any{SpecsField: set}
		if err := Call(ctx, a.Client, http.MethodPost, a.URL(id, a.SpecsPath), body, nil); err != nil {
			return Explain(err)
		}
	}
	for _, key := range unset {
		err := Call(ctx, a.Client, http.MethodDelete, a.URL(id, a.SpecsPath, key), nil, nil)
		if err != nil && !openstack.IsNotFound(err) { // Another client deleted the key first.
			return Explain(err)
		}
	}
	return nil
}
