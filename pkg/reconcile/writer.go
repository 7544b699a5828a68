package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Writer writes the objects of a reconciler with JSON merge patches, and records each write in
// [Writes]. A write that would change nothing sends no request. Every PATCH has the
// metadata.uid of the object, so that another object of the same name is not changed: the API
// server then answers Conflict. The exception is the status of a custom resource, because the API
// server ignores metadata.uid in its PATCH: [Writer.Status] finds the other object in the answer
// and returns a Conflict too, and the next pass over the other object corrects the status. Each
// write is logged at verbosity 1. Writer is safe for concurrent use.
type Writer struct {
	Client client.Client
	// FieldOwner is the field manager of the writes.
	FieldOwner string
	Writes     *Writes
	// Brief has the API server answer writes of a status with the metadata alone, which costs both sides less.
	// [Writer.Status] then leaves after as it is.
	Brief bool
}

// Status writes the fields of the status that differ between before and after, and reports
// whether it wrote. Status copies the answer of the API server into after, unless the Writer is Brief.
//
// If locked is set, the write fails with a Conflict if the object has changed since before was
// read. Set locked for decisions that depend on fields of other writers, and for lists, which a
// merge patch replaces as a whole.
//
// The API server refuses a status that is too large. Status then leaves large fields as they are stored, and the
// conditions say so: an object whose conditions can't be written would fail for ever without a word.
func (w *Writer) Status(ctx context.Context, id object.ID, before, after client.Object, locked bool) (bool, error) {
	content, err := difference(before, after)
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	status, changed := content["status"]
	if !changed {
		return false, nil
	}
	uid := after.GetUID()
	metadata := map[string]any{"uid": uid}
	if locked {
		metadata["resourceVersion"] = before.GetResourceVersion()
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	answer, err := w.answerFor(after)
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, err)
	}
	err = w.Client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(w.FieldOwner))
	if isTooLarge(err) {
		return w.reduced(ctx, id, before, after, err)
	}
	if err != nil {
		return false, fmt.Errorf("write status of %s: %w", id, gone(id, err))
	}
	if uid != "" && answer.GetUID() != uid {
		return false, fmt.Errorf("write status of %s: %w", id, replaced(id, uid, answer.GetUID()))
	}
	version := answer.GetResourceVersion()
	logr.FromContextOrDiscard(ctx).V(1).Info("Wrote status", "object", id.String(), "version", version)
	if locked {
		w.Writes.WroteOn(id, before.GetResourceVersion(), version)
	} else {
		w.Writes.Wrote(id, version)
	}
	return true, nil
}

// goneError says that the object that a [Writer] writes does not exist any more. A pass that fails for this reason has
// nothing left to do: the next pass sees that the object is gone ([Outcome.IsSuperseded]).
type goneError struct{ error }

// Unwrap returns the NotFound of the API server.
func (e goneError) Unwrap() error { return e.error }

// gone marks a NotFound as the answer to a write of the pass's own object. The answer for a path that the API server
// does not serve any more, such as that of an old version, names no object, or is no Status.
func gone(id object.ID, err error) error {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return err
	}
	if details := answer.Status().Details; details == nil || details.Name != id.Name {
		return err
	}
	return goneError{err}
}

// replaced returns the Conflict for which [IsAnother] is true.
func replaced(id object.ID, want, found types.UID) error {
	return apierrors.NewConflict(schema.GroupResource{Group: id.Group, Resource: id.Kind}, id.Name,
		fmt.Errorf("UID in precondition: %s, UID in object meta: %s", want, found))
}

// answerFor returns what the answer to a write of a status is read into.
func (w *Writer) answerFor(obj client.Object) (client.Object, error) {
	if !w.Brief {
		return obj, nil
	}
	gvk, err := w.Client.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	answer := &metav1.PartialObjectMetadata{}
	answer.SetGroupVersionKind(gvk)
	answer.Namespace, answer.Name = obj.GetNamespace(), obj.GetName()
	return answer, nil
}

// Object writes the fields of metadata and spec that differ between before and after, and
// reports whether it wrote. The write fails with a Conflict if the object has changed since
// before was read, because a merge patch replaces lists such as metadata.finalizers as a whole.
// Object copies resourceVersion and generation of the answer into after.
func (w *Writer) Object(ctx context.Context, id object.ID, before, after client.Object) (bool, error) {
	content, err := difference(before, after)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", id, err)
	}
	delete(content, "status")
	if len(content) == 0 {
		return false, nil
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["uid"], metadata["resourceVersion"] = after.GetUID(), before.GetResourceVersion()
	patch, err := json.Marshal(content)
	if err != nil {
		return false, fmt.Errorf("write %s: %w", id, err)
	}
	answer := after.DeepCopyObject().(client.Object)
	err = w.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(w.FieldOwner))
	if err != nil {
		return false, fmt.Errorf("write %s: %w", id, gone(id, err))
	}
	logr.FromContextOrDiscard(ctx).V(1).Info("Wrote object", "object", id.String(), "version", answer.GetResourceVersion())
	w.Writes.WroteOn(id, before.GetResourceVersion(), answer.GetResourceVersion())
	after.SetResourceVersion(answer.GetResourceVersion())
	after.SetGeneration(answer.GetGeneration())
	return true, nil
}

// difference returns the JSON merge patch that turns before into after.
func difference(before, after client.Object) (map[string]any, error) {
	patch, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, fmt.Errorf("compare with what was read: %w", err)
	}
	var content map[string]any
	if err := json.Unmarshal(patch, &content); err != nil {
		return nil, fmt.Errorf("compare with what was read: %w", err)
	}
	return content, nil
}
