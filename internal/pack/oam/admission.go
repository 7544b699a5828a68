package oam

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/dataflow"
)

// admitter handles the admission requests of the pack in every replica of the operator. The API
// server calls no webhook of the pack for the operator's own writes.
type admitter struct {
	*environment

	operators pack.Operators
	// accounts are all accounts of the operator. Another pack's account writes labels and finalizers, and is no author.
	accounts pack.Operators
}

// mutate records the author of a spec by authorise.Record, and replaces short names of definitions.
func (a *admitter) mutate(_ context.Context, req admission.Request) admission.Response {
	if a.operators.Has(req.UserInfo.Username) {
		return admission.Allowed("")
	}
	record := authorise.Record
	if a.accounts.Has(req.UserInfo.Username) && req.Operation == admissionv1.Update {
		record = authorise.Keep
	}
	patches, err := record(&req.AdmissionRequest)
	if err != nil {
		return pack.Forbidden(err.Error())
	}
	if pack.KeepsSpec(req) {
		return admission.Patched("", patches...)
	}
	short, err := a.replaceShortNames(req)
	if err != nil {
		return pack.Unprocessable(err.Error())
	}
	return admission.Patched("", append(patches, short...)...)
}

// replaceShortNames returns the patches that replace the short names of definitions, such as
// spec.workload.type.
func (a *admitter) replaceShortNames(req admission.Request) ([]webhook.JSONPatchOp, error) {
	var patches []webhook.JSONPatchOp
	replace := func(path string, content map[string]any, err error) error {
		if content != nil {
			patches = append(patches, webhook.JSONPatchOp{Operation: "replace", Path: path, Value: content})
		}
		return err
	}
	var err error
	switch req.Kind.Kind {
	case componentKind.Kind:
		err = decodeAndCheck(req, func(c *oamv1alpha2.Component) error {
			content, err := a.typedWorkload(c.Spec.Workload.Raw)
			return replace("/spec/workload", content, err)
		})
	case applicationKind.Kind:
		err = decodeAndCheck(req, func(ac *oamv1alpha2.ApplicationConfiguration) error {
			for i := range ac.Spec.Components {
				for j, t := range ac.Spec.Components[i].Traits {
					content, err := a.typedTrait(t.Trait.Raw, fmt.Sprintf("spec.components[%d].traits[%d].trait", i, j))
					if err := replace(fmt.Sprintf("/spec/components/%d/traits/%d/trait", i, j), content, err); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return patches, err
}

// validate refuses an ApplicationConfiguration or a Component that can never work. The reconcilers
// check the same fields, and write a condition.
func (a *admitter) validate(_ context.Context, req admission.Request) admission.Response {
	if a.operators.Has(req.UserInfo.Username) {
		return admission.Allowed("")
	}
	var err error
	switch kind := req.Kind.Kind; {
	case kind == revisionKind.Kind && pack.IsKubernetesController(req.UserInfo.Username) && pack.OnlyReleases(req),
		kind != revisionKind.Kind && pack.KeepsSpec(req):
		return admission.Allowed("")
	case kind == applicationKind.Kind:
		err = decodeAndCheck(req, checkApplication)
	case kind == componentKind.Kind:
		err = decodeAndCheck(req, checkComponent)
	case kind == revisionKind.Kind:
		return pack.Forbidden("only Kinship writes the ControllerRevisions of Components: change the Component instead")
	}
	if err != nil {
		return pack.Unprocessable(err.Error())
	}
	return admission.Allowed("")
}

func decodeAndCheck[T any](req admission.Request, check func(*T) error) error {
	var obj T
	if err := json.Unmarshal(req.Object.Raw, &obj); err != nil {
		return fmt.Errorf("read %s: %w", req.Kind.Kind, err)
	}
	return check(&obj)
}

// checkApplication checks the fields of an ApplicationConfiguration that need no other object.
func checkApplication(ac *oamv1alpha2.ApplicationConfiguration) error {
	for i := range ac.Spec.Components {
		c, field := &ac.Spec.Components[i], fmt.Sprintf("spec.components[%d]", i)
		if err := checkName(c, field); err != nil {
			return err
		}
		if err := checkInputs(c.DataInputs, field); err != nil {
			return err
		}
		for j := range c.Traits {
			at := fmt.Sprintf("%s.traits[%d]", field, j)
			if _, err := objectOf(c.Traits[j].Trait, at+".trait"); err != nil {
				return err
			}
			if err := checkInputs(c.Traits[j].DataInputs, at); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkInputs(inputs []oamv1alpha2.DataInput, field string) error {
	for i, input := range inputs {
		for j, path := range input.ToFieldPaths {
			at := fmt.Sprintf("%s.dataInputs[%d].toFieldPaths[%d]", field, i, j)
			if _, err := dataflow.ParseWritable(at, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkComponent checks spec.workload of a Component, and the fieldPaths of its parameters.
func checkComponent(c *oamv1alpha2.Component) error {
	if _, err := objectOf(c.Spec.Workload, "spec.workload"); err != nil {
		return err
	}
	for i, p := range c.Spec.Parameters {
		for j, path := range p.FieldPaths {
			if _, err := dataflow.ParseWritable(fmt.Sprintf("spec.parameters[%d].fieldPaths[%d]", i, j), path); err != nil {
				return err
			}
		}
	}
	return nil
}
