package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Work is one pass over an object of a kind with [Kind.Work].
type Work struct {
	ID object.ID
	// Object may be changed: the [Engine] writes status at the end of the pass.
	Object client.Object
	Refs   Refs

	before client.Object
}

// Conditioned is an object with conditions. An unstructured.Unstructured need not implement
// Conditioned: its conditions are in status.conditions.
type Conditioned interface {
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// ready is the type of the condition that the [Engine] writes.
const ready = "Ready"

// pass returns the reconciler of a kind with [Kind.Work].
func (e *Engine) pass(m *member) *reconcile.Pass[*Work] {
	writer := &reconcile.Writer{Client: e.options.Live, FieldOwner: e.options.Name, Writes: m.Writes}
	return &reconcile.Pass[*Work]{
		Writes: m.Writes,
		Read: func(_ context.Context, id object.ID) (client.Object, error) {
			if obj := m.get(id); obj != nil {
				return obj, nil
			}
			return nil, nil
		},
		Begin: func(id object.ID, obj client.Object) *Work {
			return &Work{ID: id, before: obj, Object: obj.DeepCopyObject().(client.Object)}
		},
		Live: []reconcile.Step[*Work]{
			{Name: "resolve references", Run: func(_ context.Context, w *Work) reconcile.Outcome {
				w.Refs = e.Resolve(m.gk(), w.Object, false)
				return w.Refs.Waits()
			}},
			{Name: "guard targets", Run: func(ctx context.Context, w *Work) reconcile.Outcome { return e.Hold(ctx, w.Refs) }},
			{Name: "set owner references", Run: func(ctx context.Context, w *Work) reconcile.Outcome {
				return e.Own(ctx, writer, m.gk(), w.Object, w.Refs)
			}},
			{Name: "work", Run: m.Work},
		},
		Conclude: func(ctx context.Context, w *Work, outcome reconcile.Outcome) reconcile.Outcome {
			if w.before.GetDeletionTimestamp() != nil {
				return outcome
			}
			return outcome.And(e.report(ctx, writer, w, outcome))
		},
	}
}

// report writes the condition Ready, and the status fields that [Kind.Work] has changed.
func (e *Engine) report(
	ctx context.Context, writer *reconcile.Writer, w *Work, outcome reconcile.Outcome,
) reconcile.Outcome {
	conditions := conditionsOf(w.Object)
	condition.Set(&conditions, condition.Of(ready, outcome,
		condition.Done{Reason: "Ready", Message: "All references are ready"}, w.Object.GetGeneration()))
	if err := setConditions(w.Object, conditions); err != nil {
		return reconcile.Fail(e.options.Reasons.Failed, err)
	}
	_, err := writer.Status(ctx, w.ID, w.before, w.Object, false)
	if reconcile.IsSuperseded(err) {
		return reconcile.Outcome{}
	}
	return reconcile.Fail(e.options.Reasons.Failed, err)
}

// IsReady is a [Kind.Ready] for objects with the condition Ready.
func IsReady(obj client.Object) (id string, ok bool) {
	return "", meta.IsStatusConditionTrue(conditionsOf(obj), ready)
}

// conditionsOf returns a copy of an object's conditions.
func conditionsOf(obj client.Object) []metav1.Condition {
	if typed, ok := obj.(Conditioned); ok {
		return append([]metav1.Condition(nil), typed.GetConditions()...)
	}
	u, ok := obj.(runtime.Unstructured)
	if !ok {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(u.UnstructuredContent(), "status", "conditions")
	content := struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"conditions": list}, &content)
	if err != nil {
		return nil // The API server stores no conditions of another shape.
	}
	return content.Conditions
}

func setConditions(obj client.Object, conditions []metav1.Condition) error {
	if typed, ok := obj.(Conditioned); ok {
		typed.SetConditions(conditions)
		return nil
	}
	list := make([]any, 0, len(conditions))
	for i := range conditions {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return err
		}
		list = append(list, content)
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	return unstructured.SetNestedSlice(u.Object, list, "status", "conditions")
}
