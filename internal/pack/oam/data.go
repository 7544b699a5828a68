package oam

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/dataflow"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// addNode adds a dataflow.Node for an object with dataOutputs or dataInputs. The parameter field is
// the field of the ApplicationConfiguration with the object.
func (p *part) addNode(
	obj *unstructured.Unstructured, field string, outputs []oamv1alpha2.DataOutput, inputs []oamv1alpha2.DataInput,
) error {
	if len(outputs)+len(inputs) == 0 {
		return nil
	}
	n := dataflow.Node{Object: obj}
	for i, o := range outputs {
		at := fmt.Sprintf("%s.dataOutputs[%d]", field, i)
		store, err := storeOf(o.OutputStore, at+".outputStore")
		if err != nil {
			return err
		}
		n.Outputs = append(n.Outputs, dataflow.Output{
			Field: at, Name: o.Name, FieldPath: o.FieldPath, Conditions: conditionsOf(o.Conditions), Store: store,
		})
	}
	for i, in := range inputs {
		at := fmt.Sprintf("%s.dataInputs[%d]", field, i)
		store, err := storeOf(in.InputStore, at+".inputStore")
		if err != nil {
			return err
		}
		n.Inputs = append(n.Inputs, dataflow.Input{
			Field: at, Output: in.ValueFrom.DataOutputName, ToFieldPaths: in.ToFieldPaths,
			Conditions: conditionsOf(in.Conditions), Store: store,
		})
	}
	p.nodes = append(p.nodes, n)
	return nil
}

func conditionsOf(all []oamv1alpha2.ConditionRequirement) []dataflow.Condition {
	conditions := make([]dataflow.Condition, 0, len(all))
	for _, c := range all {
		conditions = append(conditions, dataflow.Condition{
			Operator: string(c.Operator), Value: c.Value, ValueFrom: c.ValueFrom.FieldPath, FieldPath: c.FieldPath,
		})
	}
	return conditions
}

// jsonPatch is the only published StoreReference.Operations[*].Type.
const jsonPatch = "jsonPatch"

// storeOf returns the dataflow.Store of a StoreReference, or nil.
func storeOf(ref oamv1alpha2.StoreReference, field string) (*dataflow.Store, error) {
	if ref.Kind == "" {
		return nil, nil
	}
	s := &dataflow.Store{
		GroupVersionKind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Name: ref.Name,
	}
	for i, o := range ref.Operations {
		at := fmt.Sprintf("%s.operations[%d]", field, i)
		if o.Type != jsonPatch {
			return nil, relation.Wrong(at+".type", "there is no operation %q: use %s", o.Type, jsonPatch)
		}
		s.Operations = append(s.Operations, dataflow.Operation{
			Field: at, Operator: o.Operator, ToFieldPath: o.ToFieldPath, ToDataPath: o.ToDataPath,
			Value: o.Value, ValueFrom: o.ValueFrom.FieldPath, Conditions: conditionsOf(o.Conditions),
		})
	}
	return s, nil
}

// nodes returns the workloads and traits with dataOutputs or dataInputs.
func (a application) nodes() []dataflow.Node {
	var all []dataflow.Node
	for _, p := range a.parts {
		all = append(all, p.nodes...)
	}
	return all
}

// passData writes the values of dataOutputs into the objects with dataInputs. An object that still
// lacks a value is not applied in this pass.
func (r *applicationReconciler) passData(ctx context.Context, p *applicationPass) reconcile.Outcome {
	p.Status.Dependency.Unsatisfied = nil
	nodes := p.app.nodes()
	if len(nodes) == 0 {
		r.exchanging.Delete(p.id)
		return reconcile.Outcome{}
	}
	r.exchanging.Store(p.id, nil)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.ApplicationConfiguration)
	if err != nil {
		return reconcile.Fail(reasonError, fmt.Errorf("convert the application: %w", err))
	}
	flow := dataflow.Flow{
		Field: "spec.components[*].dataInputs", Nodes: nodes, Owner: &unstructured.Unstructured{Object: content},
		Read: dataflow.Reader(ctx, r.live), Budget: p.app.budget,
		IsOwn: func(u *unstructured.Unstructured) bool { return metav1.IsControlledBy(u, p.ApplicationConfiguration) },
	}
	flow.Owner.SetGroupVersionKind(applicationKind)
	result, err := flow.Run()
	if err != nil {
		return faultOf(err)
	}
	p.skip = append(p.skip, result.Held...)
	p.app.stores = result.Stores
	p.setUnsatisfied(result.Missing)
	return faultOf(p.app.distinct())
}

// maxUnsatisfied bounds status.dependency.unsatisfied.
const maxUnsatisfied = 1024

func (p *applicationPass) setUnsatisfied(missing []dataflow.Missing) {
	for _, m := range missing[:min(len(missing), maxUnsatisfied)] {
		p.Status.Dependency.Unsatisfied = append(p.Status.Dependency.Unsatisfied, oamv1alpha2.UnsatisfiedDependency{
			Reason: m.Reason,
			From:   oamv1alpha2.DependencyFromObject{TypedReference: referenceTo(m.From), FieldPath: m.FromField},
			To:     oamv1alpha2.DependencyToObject{TypedReference: referenceTo(m.To), FieldPaths: m.ToFields},
		})
	}
}

// faultOf returns the Outcome of an error: a *relation.FieldError stays until a user changes the
// field, and the pass repeats after any other error.
func faultOf(err error) reconcile.Outcome {
	if _, ok := errors.AsType[*relation.FieldError](err); ok {
		return reconcile.Refuse(reasonError, "%s", err)
	}
	return reconcile.Fail(reasonError, err)
}

func referenceTo(obj *unstructured.Unstructured) oamv1alpha2.TypedReference {
	return oamv1alpha2.TypedReference{APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Name: obj.GetName()}
}
