package oam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// passData writes the values of data outputs into the objects with data inputs. An object whose
// values are not there yet is not applied in this pass.
func (r *applicationReconciler) passData(ctx context.Context, p *applicationPass) reconcile.Outcome {
	p.Status.Dependency.Unsatisfied = nil
	ends := endsOf(p.ApplicationConfiguration, p.app)
	if len(ends) == 0 {
		r.exchanging.Delete(p.id)
		r.stores.WaitFor(p.id)
		return reconcile.Outcome{}
	}
	r.exchanging.Store(p.id, nil)
	r.stores.WaitFor(p.id, inputStores(p.Namespace, ends)...)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.ApplicationConfiguration)
	if err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("convert the application: %w", err))
	}
	var failed error
	x := exchange{content: content, budget: p.app.budget}
	read := map[object.ID]*unstructured.Unstructured{}
	x.stored = func(of *unstructured.Unstructured) *unstructured.Unstructured {
		id := object.Of(of, of.GroupVersionKind().GroupKind())
		if _, known := read[id]; !known {
			var err error
			if read[id], err = r.readLive(ctx, of); err != nil {
				failed = err
			}
		}
		return read[id]
	}
	x.live = func(of *unstructured.Unstructured) *unstructured.Unstructured {
		// An object of somebody else may hold what the author may not read.
		if found := x.stored(of); found != nil && metav1.IsControlledBy(found, p.ApplicationConfiguration) {
			return found
		}
		return nil
	}
	if err := r.exchange(p, x, ends); err != nil {
		return reconcile.Refuse(reasonError, "%s", err)
	}
	return reconcile.Fail(reasonError, failed)
}

// maxUnsatisfied is how many entries status.dependency.unsatisfied has room for.
const maxUnsatisfied = 1024

// exchange fills the objects with data inputs, and makes the stores. An error is a *fieldError.
func (r *applicationReconciler) exchange(p *applicationPass, x exchange, ends []end) error {
	var err error
	if x.outputs, err = outputsOf(ends); err != nil {
		return err
	}
	if err := x.checkOrder(ends); err != nil {
		return err
	}
	for _, e := range ends {
		unsatisfied, err := x.fill(e.object, e.inputs, e.field)
		if err != nil {
			return err
		}
		if len(unsatisfied) > 0 {
			p.skip = append(p.skip, object.Of(e.object, e.object.GroupVersionKind().GroupKind()))
			p.Status.Dependency.Unsatisfied = append(p.Status.Dependency.Unsatisfied, unsatisfied...)
		}
	}
	stores, unsatisfied, err := x.storesOf(ends)
	if err != nil {
		return err
	}
	p.app.stores = stores
	p.Status.Dependency.Unsatisfied = append(p.Status.Dependency.Unsatisfied, unsatisfied...)
	for _, u := range unsatisfied { // A store that exists keeps its values.
		p.skip = append(p.skip, idOf(u.To.TypedReference, p.Namespace))
	}
	all := p.Status.Dependency.Unsatisfied
	p.Status.Dependency.Unsatisfied = all[:min(len(all), maxUnsatisfied)]
	return p.app.distinct()
}

// inputStores returns the stores that data inputs are read from.
func inputStores(namespace string, ends []end) []object.ID {
	var ids []object.ID
	for _, e := range ends {
		for _, input := range e.inputs {
			if input.InputStore.Kind != "" {
				ids = append(ids, idOf(input.InputStore.TypedReference, namespace))
			}
		}
	}
	return ids
}

// mayStore checks that the authors may read the objects with outputs and the stores of inputs, and create
// the stores of outputs.
func (r *applicationReconciler) mayStore(ctx context.Context, namespace string, ends []end) reconcile.Outcome {
	var outcome reconcile.Outcome
	check := func(e end, verb string, ref oamv1alpha2.TypedReference) {
		if ref.Kind != "" {
			outcome = outcome.And(r.permitted(ctx, e.authors, namespace, verb,
				schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)))
		}
	}
	for _, e := range ends {
		if len(e.outputs) > 0 {
			check(e, "get", referenceTo(e.object))
		}
		for _, o := range e.outputs {
			check(e, "create", o.OutputStore.TypedReference)
		}
		for _, input := range e.inputs {
			check(e, "get", input.InputStore.TypedReference)
		}
	}
	return outcome
}

// readLive reads an object of the application from the API server, or returns nil.
func (r *applicationReconciler) readLive(
	ctx context.Context, of *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(of.GroupVersionKind())
	err := r.live.Get(ctx, client.ObjectKeyFromObject(of), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", of.GetKind(), of.GetName(), err)
	}
	return found, nil
}
