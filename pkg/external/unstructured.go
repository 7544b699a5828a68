package external

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Unstructured is an [Object] of a kind without a Go type, for example because the definition of the kind
// is installed at run time. A single function can return the [Kind] of each such definition, with a
// [Kind.New] that calls [NewUnstructured].
//
// The embedded object has the content. GetExternalSpec returns the fields of ExternalSpec in spec.
// GetExternalStatus returns Go fields that the [Engine] changes. MarshalJSON writes these fields into
// status, and takes the other fields of status from the embedded object. A pack whose kinds have another
// shape embeds Unstructured, and implements GetExternalSpec or GetImport, Adapt and DeepCopyObject.
type Unstructured struct {
	unstructured.Unstructured

	// Spec and Status are exported for comparisons by equality.Semantic. Use the methods.
	Spec   sharedv1alpha1.ExternalSpec
	Status sharedv1alpha1.ExternalStatus
}

var (
	_ Object        = (*Unstructured)(nil)
	_ watch.Adapter = (*Unstructured)(nil)
)

// NewUnstructured returns an empty object of a kind.
func NewUnstructured(gvk schema.GroupVersionKind) *Unstructured {
	u := &Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// Adapt implements watch.Adapter.
func (u *Unstructured) Adapt(obj *unstructured.Unstructured) (client.Object, error) {
	adapted := &Unstructured{Unstructured: *obj}
	return adapted, adapted.read()
}

// read reads Unstructured.Spec and Unstructured.Status from the content, and removes the fields of
// ExternalStatus from the content: a cache would otherwise hold each condition twice.
func (u *Unstructured) read() error {
	u.Spec, u.Status = sharedv1alpha1.ExternalSpec{}, sharedv1alpha1.ExternalStatus{}
	for field, into := range map[string]any{"spec": &u.Spec, "status": &u.Status} {
		value, exists := u.Object[field]
		if !exists {
			continue
		}
		content, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("read %s: it is a %T, not an object", field, value)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); err != nil {
			return fmt.Errorf("read %s: %w", field, err)
		}
	}
	if status, ok := u.Object["status"].(map[string]any); ok {
		status = maps.Clone(status) // The caller may read the content as well.
		for _, name := range statusFields {
			delete(status, name)
		}
		u.Object = maps.Clone(u.Object)
		u.Object["status"] = status
	}
	return nil
}

// ShareNames makes the names of fields share memory between objects (object.Share). Cached objects have
// most names in common.
func (u *Unstructured) ShareNames() { shareNames(u.Object) }

func shareNames(value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			v[object.Share(name)] = one // An assignment replaces the text of an equal name.
			shareNames(one)
		}
	case []any:
		for _, one := range v {
			shareNames(one)
		}
	}
}

// GetExternalSpec implements Object. Changes of the returned fields are not written.
func (u *Unstructured) GetExternalSpec() *sharedv1alpha1.ExternalSpec { return &u.Spec }

// GetExternalStatus implements Object.
func (u *Unstructured) GetExternalStatus() *sharedv1alpha1.ExternalStatus { return &u.Status }

// GetImport implements Object. The id is that of spec.import.id or spec.adopt.id.
func (u *Unstructured) GetImport() (id string, asked bool) {
	for _, field := range []string{"import", "adopt"} {
		if _, asked, _ = unstructured.NestedFieldNoCopy(u.Object, "spec", field); asked {
			id, _, _ = unstructured.NestedString(u.Object, "spec", field, "id")
			return id, true
		}
	}
	return "", false
}

// statusFields are the JSON names of the fields of ExternalStatus.
var statusFields = jsonNames(reflect.TypeFor[sharedv1alpha1.ExternalStatus]())

func jsonNames(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// MarshalJSON implements json.Marshaler.
func (u *Unstructured) MarshalJSON() ([]byte, error) {
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&u.Status)
	if err != nil {
		return nil, fmt.Errorf("write status: %w", err)
	}
	content := maps.Clone(u.Object)
	status, _ := content["status"].(map[string]any)
	if status = maps.Clone(status); status == nil {
		status = map[string]any{}
	}
	for _, name := range statusFields {
		delete(status, name)
	}
	maps.Copy(status, written)
	if delete(content, "status"); len(status) > 0 {
		content["status"] = status
	}
	return json.Marshal(content)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *Unstructured) UnmarshalJSON(text []byte) error {
	if err := u.Unstructured.UnmarshalJSON(text); err != nil {
		return err
	}
	return u.read()
}

// DeepCopyObject implements runtime.Object.
func (u *Unstructured) DeepCopyObject() runtime.Object {
	return &Unstructured{
		Unstructured: *u.DeepCopy(), Spec: *u.Spec.DeepCopy(), Status: *u.Status.DeepCopy(),
	}
}
