package oam

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// passData writes the values of data outputs into the objects with data inputs. An object whose
// values are not there yet is not applied in this pass.
func (r *applicationReconciler) passData(ctx context.Context, p *applicationPass) reconcile.Outcome {
	outputs, err := outputsOf(p.ApplicationConfiguration, p.app)
	if err != nil {
		return reconcile.Refuse(reasonError, "%s", err)
	}
	p.Status.Dependency.Unsatisfied = nil
	if r.exchanging.Delete(p.id); len(outputs) == 0 {
		return refuseInputs(p)
	}
	r.exchanging.Store(p.id, nil)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.ApplicationConfiguration)
	if err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("convert the application: %w", err))
	}
	var failed error
	x := exchange{outputs: outputs, content: content}
	x.live = func(of *unstructured.Unstructured) *unstructured.Unstructured {
		found, err := r.readLive(ctx, of)
		if err != nil {
			failed = err
		}
		return found
	}
	for i := range p.Spec.Components {
		c, field := &p.Spec.Components[i], fmt.Sprintf("spec.components[%d]", i)
		fill := func(into *unstructured.Unstructured, inputs []oamv1alpha2.DataInput, field string) error {
			unsatisfied, err := x.fill(into, inputs, field)
			if len(unsatisfied) > 0 {
				p.skip = append(p.skip, object.Of(into, into.GroupVersionKind().GroupKind()))
				p.Status.Dependency.Unsatisfied = append(p.Status.Dependency.Unsatisfied, unsatisfied...)
			}
			return err
		}
		if err := fill(p.app.parts[i].workload, c.DataInputs, field); err != nil {
			return reconcile.Refuse(reasonError, "%s", err)
		}
		for j := range c.Traits {
			err := fill(p.app.parts[i].traits[j].object, c.Traits[j].DataInputs, fmt.Sprintf("%s.traits[%d]", field, j))
			if err != nil {
				return reconcile.Refuse(reasonError, "%s", err)
			}
		}
	}
	return reconcile.Fail(reasonError, failed)
}

// refuseInputs refuses inputs of an application without outputs.
func refuseInputs(p *applicationPass) reconcile.Outcome {
	for i := range p.Spec.Components {
		inputs := p.Spec.Components[i].DataInputs
		for _, t := range p.Spec.Components[i].Traits {
			inputs = append(inputs, t.DataInputs...)
		}
		if len(inputs) > 0 {
			return reconcile.Refuse(reasonError, "spec.components[%d]: there is no dataOutput %q",
				i, inputs[0].ValueFrom.DataOutputName)
		}
	}
	return reconcile.Outcome{}
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
