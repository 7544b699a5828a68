package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/pkg/relation"
)

// ListEdit adds items to a list in an object of other writers, and removes items. An example is the list
// spec.workloadRefs of a scope, which many applications write their workloads into. Server-side apply can't
// do that without listType=map in the schema of the object.
type ListEdit struct {
	// Path leads to the list.
	Path relation.Path
	// Add are the items that the list must have after [ListEdit.Write]. Drop are the items that the list must not
	// have. An item of the list equals an item of Add or Drop if the two have the same values in all fields of
	// the latter. For example, {kind: Deployment, name: web, uid: 1} equals {kind: Deployment, name: web}.
	Add, Drop []map[string]any
}

// Write reads an object by its kind, namespace and name, and changes the list. Nothing is written if the
// list is as wanted. Items that are only added to a list never conflict, so that many writers may add at
// once. Any other change fails with Conflict if another client changes the object meanwhile. The error is a
// [relation.FieldError] if Path does not lead to a list. No other error is wrapped.
func (e ListEdit) Write(ctx context.Context, c client.Client, obj *unstructured.Unstructured, fieldOwner string) error {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(obj.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
		return err
	}
	list, err := e.listIn(live.Object)
	if err != nil {
		return err
	}
	kept, added := e.edited(list)
	pointer, hasPointer := e.Path.Pointer()
	var patch client.Patch
	switch {
	case len(kept) == len(list) && len(added) == 0:
		return nil
	case len(kept) == len(list) && len(list) > 0 && hasPointer:
		patch, err = appending(live.GetUID(), pointer, added)
	default:
		patch = client.MergeFromWithOptions(live.DeepCopy(), client.MergeFromWithOptimisticLock{})
		live.Object, err = e.Path.Set(live.Object, append(kept, added...))
	}
	if err != nil {
		return err
	}
	return c.Patch(ctx, live, patch, client.FieldOwner(fieldOwner))
}

// appending returns the JSON patch (RFC 6902) that adds items to the end of a list that exists, unless the
// object is another one by now.
func appending(uid types.UID, list string, items []any) (client.Patch, error) {
	operations := make([]webhook.JSONPatchOp, 1, 1+len(items))
	operations[0] = webhook.JSONPatchOp{Operation: "test", Path: "/metadata/uid", Value: uid}
	for _, item := range items {
		operations = append(operations, webhook.JSONPatchOp{Operation: "add", Path: list + "/-", Value: item})
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("add to a list: %w", err)
	}
	return client.RawPatch(types.JSONPatchType, text), nil
}

// listIn returns the list in the content of an object, or nil if there is none.
func (e ListEdit) listIn(content map[string]any) ([]any, error) {
	values := e.Path.Values(content)
	if len(values) != 1 || values[0].Value == nil {
		return nil, nil
	}
	list, ok := values[0].Value.([]any)
	if !ok {
		return nil, relation.Wrong(e.Path.String(), "it is %s, not a list", relation.TypeOf(values[0].Value))
	}
	return list, nil
}

// edited returns the items of a list that stay, and the items to add. Items that are no objects stay.
func (e ListEdit) edited(list []any) (kept, added []any) {
	kept = slices.DeleteFunc(slices.Clone(list), func(item any) bool {
		return slices.ContainsFunc(e.Drop, func(dropped map[string]any) bool { return isItem(item, dropped) })
	})
	for _, one := range e.Add {
		if !slices.ContainsFunc(kept, func(item any) bool { return isItem(item, one) }) {
			added = append(added, one)
		}
	}
	return kept, added
}

// isItem reports whether an item of a list has the values of all fields of another one.
func isItem(item any, fields map[string]any) bool {
	content, ok := item.(map[string]any)
	for key, value := range fields {
		if !ok || !reflect.DeepEqual(content[key], value) {
			return false
		}
	}
	return ok
}
