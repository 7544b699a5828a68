package iot

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// Messages of refusals for a missing right.
const (
	statusRefused = "status.inventory lists the objects that the operator may delete: only Kinship may write it"
	mayNotDeploy  = "the author of an IotConnector or IotConnectorRelease must be allowed to create " +
		"Deployments in its namespace"
	mayNotIdentify = "the author of an IotConnector or of its serviceIdentity must be allowed to create " +
		"the identity of its Pods in its namespace"
	mayNotUpdate = "the author of an IotConnectorRelease must be allowed to update IotConnectors " +
		"in its namespace"
)

// validator handles the admission requests for IotConnectors and IotConnectorReleases. Every
// replica of the operator runs a validator.
type validator struct {
	reviewer  *authorise.Reviewer
	operators pack.Operators // user names of the operator
	identity  Identity
}

// Default adds the finalizer to a new IotConnector, which saves the controller a write.
func (v *validator) Default(_ context.Context, req admission.Request) admission.Response {
	c, _, err := pack.Decode(req, empty[metav1.PartialObjectMetadata])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	controllerutil.AddFinalizer(c, finalizer)
	return pack.PatchMetadata(req, c)
}

// Handle implements admission.Handler. Handle refuses a spec that can never work, and a spec
// whose effects go beyond the rights of its author.
func (v *validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	operator := v.operators.Has(req.UserInfo.Username)
	switch {
	case req.SubResource == "status" && operator:
		return admission.Allowed("")
	case req.SubResource == "status":
		return pack.Forbidden(statusRefused)
	case req.Kind.Kind == releaseKind.Kind:
		return v.release(ctx, req)
	default:
		return v.connector(ctx, req, operator)
	}
}

// connector handles a write of an IotConnector. The rights of the operator are not checked: the
// operator changes spec for an IotConnectorRelease, whose author had the rights.
func (v *validator) connector(ctx context.Context, req admission.Request, operator bool) admission.Response {
	c, old, err := pack.Decode(req, empty[iotv1alpha1.IotConnector])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if old != nil && equality.Semantic.DeepEqual(&c.Spec, &old.Spec) {
		return admission.Allowed("")
	}
	if err := errors.Join(iot.Validate(c.Name, &c.Spec), versionChange(c, old)); err != nil {
		return pack.Unprocessable(err.Error())
	}
	if operator {
		return admission.Allowed("")
	}
	answer := v.mayDeploy(ctx, req)
	if !answer.Allowed || old != nil && equality.Semantic.DeepEqual(c.Spec.ServiceIdentity, old.Spec.ServiceIdentity) {
		return answer
	}
	// Without serviceIdentity the Pods use a ServiceAccount too. A RoleBinding may have granted
	// rights to the ServiceAccount before the ServiceAccount exists.
	for _, r := range v.identity.resources() {
		answer := v.may(ctx, req, mayNotIdentify, authorise.Action{
			Verb: "create", Group: r.Group, Resource: r.Resource, Namespace: req.Namespace,
		})
		if !answer.Allowed {
			return answer
		}
	}
	return answer
}

// versionChange refuses a change of spec.version that is neither an upgrade nor the rollback of
// an upgrade.
func versionChange(c, old *iotv1alpha1.IotConnector) error {
	if old == nil {
		return nil
	}
	from, to := old.Spec.EffectiveVersion(), c.Spec.EffectiveVersion()
	switch {
	case to > from && c.Annotations[iotv1alpha1.AnnotationPreviousSpec] != "":
		previous, err := iot.Previous(c)
		if err != nil {
			return fmt.Errorf("upgrade to version %d: %w", to, err)
		}
		if iot.HashSpec(previous) != iot.HashSpec(&old.Spec) {
			return fmt.Errorf("upgrade to version %d: annotation %s is not the spec that is there: "+
				"read the IotConnector again and upgrade that", to, iotv1alpha1.AnnotationPreviousSpec)
		}
	default:
		return checkDowngrade(from, c, old.Status.Previous)
	}
	return nil
}

// checkDowngrade refuses a spec.version below from, unless the spec is the previous spec that
// status.previous records.
func checkDowngrade(from int32, c *iotv1alpha1.IotConnector, previous *iotv1alpha1.PreviousSpec) error {
	to := c.Spec.EffectiveVersion()
	switch {
	case to >= from:
		return nil
	case previous == nil:
		return fmt.Errorf("version %d can't go down to %d: no previous spec is on record that it could be rolled back to",
			from, to)
	case iot.HashSpec(&c.Spec) != previous.Hash:
		return fmt.Errorf("version %d can't go down to %d other than by a rollback to the previous spec, which this is not: "+
			"use kinship iot rollback; if that says so, annotation %s was changed since the upgrade, "+
			"and the spec before it has to be applied by hand", from, to, iotv1alpha1.AnnotationPreviousSpec)
	default:
		return nil
	}
}

// release handles a write of an IotConnectorRelease. The release changes IotConnectors, and so
// Deployments, in the name of its author.
func (v *validator) release(ctx context.Context, req admission.Request) admission.Response {
	release, old, err := pack.Decode(req, empty[iotv1alpha1.IotConnectorRelease])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if old != nil && equality.Semantic.DeepEqual(&release.Spec, &old.Spec) {
		return admission.Allowed("")
	}
	if s := release.Spec.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return pack.Unprocessable("spec.selector is empty and would " +
			"match every IotConnector of the namespace: give matchLabels, or leave it out for " +
			iotv1alpha1.TierLabel + "=" + iotv1alpha1.TierAlwaysUpdate)
	}
	if _, err := metav1.LabelSelectorAsSelector(release.Spec.Selector); err != nil {
		return pack.Unprocessable(fmt.Sprintf("spec.selector is not valid: %v", err))
	}
	answer := v.mayDeploy(ctx, req)
	if !answer.Allowed {
		return answer
	}
	return v.may(ctx, req, mayNotUpdate, authorise.Action{
		Verb: "update", Group: connectorKind.Group, Resource: connectors, Namespace: req.Namespace,
	})
}

// mayDeploy refuses a request whose author may not create Deployments.
func (v *validator) mayDeploy(ctx context.Context, req admission.Request) admission.Response {
	return v.may(ctx, req, mayNotDeploy, authorise.Action{
		Verb: "create", Group: deploymentKind.Group, Resource: "deployments", Namespace: req.Namespace,
	})
}

// may refuses a request whose author lacks the right to an action.
func (v *validator) may(
	ctx context.Context, req admission.Request, refusal string, action authorise.Action,
) admission.Response {
	return pack.Ask(ctx, v.reviewer, req.UserInfo, action, fmt.Sprintf(
		"user %q may not %s %s in namespace %s: %s",
		req.UserInfo.Username, action.Verb, action.Resource, action.Namespace, refusal))
}

func empty[T any]() *T { return new(T) }
