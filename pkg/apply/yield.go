package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Left is a field that an Applier leaves to another field manager.
type Left struct {
	// Field is the path of the field as the API server writes paths, such as spec.replicas or
	// spec.template.spec.containers[name="web"].image.
	Field string
	// Manager is the field manager in metadata.managedFields.
	Manager string
}

// String implements fmt.Stringer.
func (l Left) String() string {
	return fmt.Sprintf("%s is left to field manager %s", l.Field, l.Manager)
}

// textOf returns a text for the fields that are left, in the order of their paths.
func textOf(all []Left) string {
	texts := make([]string, 0, len(all))
	for _, l := range all {
		texts = append(texts, l.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}

// leftIn returns the fields that other field managers have set to other values, as the API server reports them for an
// apply without force.
func leftIn(err error) []Left {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var all []Left
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// conflict with "kubectl-edit" using apps/v1
		_, rest, _ := strings.Cut(cause.Message, `"`)
		manager, _, _ := strings.Cut(rest, `"`)
		all = append(all, Left{strings.TrimPrefix(cause.Field, "."), manager})
	}
	return all
}

// leave removes the fields that are left to other field managers from the content that is applied to an
// existing object. leave reads the object: a path in an error of the API server is a text, such as
// metadata.labels.a.b, and only metadata.managedFields tells the keys a.b and a apart.
func (p pass) leave(ctx context.Context, sent *unstructured.Unstructured, left []Left) error {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(sent.GroupVersionKind())
	if err := p.Client.Get(ctx, client.ObjectKeyFromObject(sent), meta); err != nil {
		return fmt.Errorf("read who sets which fields: %w", missing(err))
	}
	for _, f := range meta.GetManagedFields() {
		wanted := map[string]bool{}
		for _, l := range left {
			if l.Manager == f.Manager {
				wanted[l.Field] = true
			}
		}
		if len(wanted) == 0 || f.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(f.FieldsV1.GetRawBytes())); err != nil {
			return fmt.Errorf("read the fields of field manager %s: %w", f.Manager, err)
		}
		set.Iterate(func(path fieldpath.Path) {
			if wanted[strings.TrimPrefix(path.String(), ".")] {
				removeField(sent.Object, path)
			}
		})
	}
	return nil
}

// errMissing says that an object is gone that was to be changed.
var errMissing = errors.New("the object is gone")

// missing marks a NotFound, so that the object is looked at again (isStale).
func missing(err error) error {
	if apierrors.IsNotFound(err) {
		return errMissing
	}
	return err
}

// removeField removes the field of a path. removeField changes nothing where the content has no such field.
func removeField(content any, path fieldpath.Path) (changed any) {
	if len(path) == 0 {
		return content
	}
	step, last := path[0], len(path) == 1
	switch within := content.(type) {
	case map[string]any:
		if step.FieldName == nil {
			return content
		}
		below, has := within[*step.FieldName]
		switch {
		case has && last:
			delete(within, *step.FieldName)
		case has:
			within[*step.FieldName] = removeField(below, path[1:])
		}
	case []any:
		i := itemAt(within, step)
		switch {
		case i < 0:
		case last:
			return slices.Delete(slices.Clone(within), i, i+1)
		default:
			within[i] = removeField(within[i], path[1:])
		}
	}
	return content
}

// itemAt returns the index of the item of a list that a step of a path names, or -1. An item may lack a key that the
// API server sets, such as the protocol of a port.
func itemAt(items []any, step fieldpath.PathElement) int {
	switch {
	case step.Key != nil:
		return slices.IndexFunc(items, func(item any) bool {
			fields, isMap := item.(map[string]any)
			return isMap && hasKeys(fields, *step.Key)
		})
	case step.Value != nil:
		return slices.IndexFunc(items, func(item any) bool {
			return value.Equals(value.NewValueInterface(item), *step.Value)
		})
	case step.Index != nil && *step.Index < len(items):
		return *step.Index
	default:
		return -1
	}
}

func hasKeys(fields map[string]any, keys value.FieldList) bool {
	found := false
	for _, key := range keys {
		is, has := fields[key.Name]
		if !has {
			continue
		}
		if !value.Equals(value.NewValueInterface(is), key.Value) && !reflect.DeepEqual(is, key.Value.Unstructured()) {
			return false
		}
		found = true
	}
	return found
}
