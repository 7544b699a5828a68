package iot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// What is refused for want of a right.
const (
	statusRefused = "the status says what was made and may be deleted: only Kinship may write it"
	mayNotDeploy  = "whoever creates or changes an IotConnector or its release must be allowed to create " +
		"Deployments in its namespace"
	mayNotIdentify = "whoever creates an IotConnector or changes its serviceIdentity must be allowed to create " +
		"what its Pods act as, in its namespace"
	mayNotUpdate = "whoever creates or changes an IotConnectorRelease must be allowed to update IotConnectors " +
		"in its namespace"
)

// validator judges IotConnectors and releases when they are created and changed.
// It runs in every replica.
type validator struct {
	reviewer  *authorise.Reviewer
	operators pack.Operators // our own user names
	identity  Identity
}

// Default gives a new IotConnector its finalizer, which saves the controller a
// write. It adds to what was sent, and sends nothing back through our types, which
// could lose fields of a newer schema.
func (v *validator) Default(_ context.Context, req admission.Request) admission.Response {
	var sent struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := json.Unmarshal(req.Object.Raw, &sent); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read metadata of IotConnector: %w", err))
	}
	finalizers := sent.Metadata.Finalizers
	if slices.Contains(finalizers, finalizer) {
		return admission.Allowed("")
	}
	return admission.Patched("", webhook.JSONPatchOp{
		Operation: "add", Path: "/metadata/finalizers", Value: append(finalizers, finalizer),
	})
}

// Handle implements admission.Handler: it refuses what can never work, and what the
// author may not do.
func (v *validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	operator := v.operators.Has(req.UserInfo.Username)
	switch {
	case req.SubResource == "status" && operator:
		return admission.Allowed("")
	case req.SubResource == "status":
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, statusRefused)
	case req.Kind.Kind == releaseKind.Kind:
		return v.release(ctx, req)
	default:
		return v.connector(ctx, req, operator)
	}
}

// connector judges an IotConnector. The operator changes one as a release asks,
// whose author was judged then.
func (v *validator) connector(ctx context.Context, req admission.Request, operator bool) admission.Response {
	c, old, err := pack.Decode(req, empty[iotv1alpha1.IotConnector])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if old != nil && equality.Semantic.DeepEqual(&c.Spec, &old.Spec) {
		return admission.Allowed("")
	}
	if err := errors.Join(iot.Validate(c.Name, &c.Spec), versionChange(c, old)); err != nil {
		return pack.Denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	}
	if operator {
		return admission.Allowed("")
	}
	answer := v.may(ctx, req, mayNotDeploy, authorise.Action{
		Verb: "create", Group: deploymentKind.Group, Resource: "deployments", Namespace: req.Namespace,
	})
	if !answer.Allowed || old != nil && equality.Semantic.DeepEqual(c.Spec.ServiceIdentity, old.Spec.ServiceIdentity) {
		return answer
	}
	// Without a serviceIdentity the Pods act as an account too, which somebody may have
	// granted rights before the account exists.
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

// versionChange refuses a change of the version that is neither an upgrade nor its
// rollback.
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
		return goingDown(from, c, old.Status.Previous)
	}
	return nil
}

// goingDown refuses a version below another one, unless the spec is the one on
// record.
func goingDown(from int32, c *iotv1alpha1.IotConnector, previous *iotv1alpha1.PreviousSpec) error {
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

// release judges an IotConnectorRelease: it changes IotConnectors, and so
// Deployments, for its author.
func (v *validator) release(ctx context.Context, req admission.Request) admission.Response {
	release, old, err := pack.Decode(req, empty[iotv1alpha1.IotConnectorRelease])
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if old != nil && equality.Semantic.DeepEqual(&release.Spec, &old.Spec) {
		return admission.Allowed("")
	}
	if s := release.Spec.Selector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return pack.Denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "spec.selector is empty and would "+
			"match every IotConnector of the namespace: give matchLabels, or leave it out for "+
			iotv1alpha1.TierLabel+"="+iotv1alpha1.TierAlwaysUpdate)
	}
	if _, err := metav1.LabelSelectorAsSelector(release.Spec.Selector); err != nil {
		return pack.Denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			fmt.Sprintf("spec.selector is not valid: %v", err))
	}
	answer := v.may(ctx, req, mayNotDeploy, authorise.Action{
		Verb: "create", Group: deploymentKind.Group, Resource: "deployments", Namespace: req.Namespace,
	})
	if !answer.Allowed {
		return answer
	}
	return v.may(ctx, req, mayNotUpdate, authorise.Action{
		Verb: "update", Group: connectorKind.Group, Resource: connectors, Namespace: req.Namespace,
	})
}

// may refuses whoever may not do something himself.
func (v *validator) may(
	ctx context.Context, req admission.Request, refusal string, action authorise.Action,
) admission.Response {
	allowed, err := v.reviewer.Allowed(ctx, req.UserInfo, action)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !allowed {
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"user %q may not %s %s in namespace %s: %s",
			req.UserInfo.Username, action.Verb, action.Resource, action.Namespace, refusal))
	}
	return admission.Allowed("")
}

func empty[T any]() *T { return new(T) }
