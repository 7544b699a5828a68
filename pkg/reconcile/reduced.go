package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
)

// largeField is the size, in bytes of JSON, above which a field of a status that can't be stored is left out.
const largeField = 8 << 10

// isTooLarge reports whether the API server, or etcd, refused an object for its size. The API server answers 413 for a
// request of more than 3 MB, and passes on etcd's error for an object of more than 1.5 MB.
func isTooLarge(err error) bool {
	if err == nil {
		return false
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok &&
		status.Status().Code == http.StatusRequestEntityTooLarge {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "request is too large") || strings.Contains(text, "larger than max")
}

// reduced writes a status without its large fields, which keep the values that are stored. Each condition says which
// fields are missing. If even that is too large, the error is terminal: the object's spec fills the space,
// and only another spec helps.
func (w *Writer) reduced(ctx context.Context, id object.ID, before, after client.Object, tooLarge error) (bool, error) {
	stored, wanted, err := unstructuredStatuses(before, after)
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	small := maps.Clone(stored)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if name == "conditions" || sizeOf(wanted[name]) <= largeField {
			small[name] = wanted[name]
			continue
		}
		missing = append(missing, "status."+name)
	}
	note(small["conditions"], fmt.Sprintf("%s can't be stored, because the object would be too large: divide the object",
		strings.Join(missing, " and ")))
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": after.GetUID()}, "status": small})
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	if string(textOf(stored)) == string(textOf(small)) {
		return false, nil // It says so already.
	}
	answer := &unstructured.Unstructured{}
	gvk, err := w.Client.GroupVersionKindFor(after)
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	answer.SetGroupVersionKind(gvk)
	answer.SetNamespace(after.GetNamespace())
	answer.SetName(after.GetName())
	err = w.Client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(w.FieldOwner))
	if isTooLarge(err) {
		return false, ctrlreconcile.TerminalError(fmt.Errorf("write status of %s: %w", id, tooLarge))
	}
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	logr.FromContextOrDiscard(ctx).Info("Wrote a part of a status, which is too large", "object", id.String(),
		"missing", missing)
	w.Writes.Wrote(id, answer.GetResourceVersion())
	return true, nil
}

// unstructuredStatuses returns the statuses of two objects as maps.
func unstructuredStatuses(before, after client.Object) (stored, wanted map[string]any, err error) {
	statuses := make([]map[string]any, 0, 2)
	for _, obj := range []client.Object{before, after} {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, nil, err
		}
		status, _ := content["status"].(map[string]any)
		if status == nil {
			status = map[string]any{}
		}
		statuses = append(statuses, status)
	}
	return statuses[0], statuses[1], nil
}

// note appends a text to the message of each condition in a list.
func note(conditions any, text string) {
	list, _ := conditions.([]any)
	for _, c := range list {
		if condition, ok := c.(map[string]any); ok {
			message, _ := condition["message"].(string)
			condition["message"] = strings.TrimPrefix(strings.TrimSuffix(message, "; "+text)+"; "+text, "; ")
		}
	}
}

func sizeOf(value any) int { return len(textOf(value)) }

// mustText returns a value of JSON as text.
func textOf(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil { // Not with the values of an unstructured object.
		return nil
	}
	return text
}
