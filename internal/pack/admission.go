package pack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/pkg/authorise"
)

// ClientConfig returns how the API server reaches the operator's webhook of a path.
func (in Installation) ClientConfig(path string) admissionregistrationv1.WebhookClientConfig {
	if in.URL != "" {
		url := in.URL + path
		return admissionregistrationv1.WebhookClientConfig{URL: &url}
	}
	port := int32(443)
	return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{
		Namespace: in.Namespace, Name: in.Service, Path: &path, Port: &port,
	}}
}

// NotTheOperator makes the API server skip the webhook for the operator's own requests: asking
// the operator about its own request costs as much as the request itself. The handler of such a
// webhook MUST neither change nor judge the operator's writes.
func (in Installation) NotTheOperator() []admissionregistrationv1.MatchCondition {
	return []admissionregistrationv1.MatchCondition{{
		Name: "not-the-operator", Expression: in.Operators.DoNotAsk(),
	}}
}

// webhookTimeout is how many seconds the API server waits for the answer of a webhook.
const webhookTimeout = 3

// ValidatingWebhook returns a webhook of a path that the API server asks about some requests, but not about
// the operator's own. Without an answer the API server refuses the request.
func (in Installation) ValidatingWebhook(
	name, path string, rules ...admissionregistrationv1.RuleWithOperations,
) admissionregistrationv1.ValidatingWebhook {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return admissionregistrationv1.ValidatingWebhook{
		Name: name, ClientConfig: in.ClientConfig(path), Rules: rules, MatchConditions: in.NotTheOperator(),
		FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: new(int32(webhookTimeout)),
		AdmissionReviewVersions: []string{"v1"},
	}
}

// MutatingWebhook is like ValidatingWebhook, for a webhook that may change the object of a request.
func (in Installation) MutatingWebhook(
	name, path string, rules ...admissionregistrationv1.RuleWithOperations,
) admissionregistrationv1.MutatingWebhook {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return admissionregistrationv1.MutatingWebhook{
		Name: name, ClientConfig: in.ClientConfig(path), Rules: rules, MatchConditions: in.NotTheOperator(),
		FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: new(int32(webhookTimeout)),
		AdmissionReviewVersions: []string{"v1"},
	}
}

// ValidatingWebhooks returns the configuration of webhooks that judge requests.
func ValidatingWebhooks(name string, hooks ...admissionregistrationv1.ValidatingWebhook) client.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: hooks,
	}
}

// MutatingWebhooks returns the configuration of webhooks that change objects.
func MutatingWebhooks(name string, hooks ...admissionregistrationv1.MutatingWebhook) client.Object {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: hooks,
	}
}

// Writes returns the rule of a webhook or a policy for creations and updates of some resources.
func Writes(groups []string, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: groups, APIVersions: []string{"*"}, Resources: resources,
		},
	}
}

// Probe sends a dry-run creation of an object that only the webhook of a name refuses. The error says that
// the API server does not call the webhook. kinds names the kind of the object in the plural.
func Probe(ctx context.Context, c client.Client, obj client.Object, webhook, kinds string) error {
	err := c.Create(ctx, obj, client.DryRunAll)
	switch {
	case err == nil:
		return fmt.Errorf("the API server does not call the webhook for %s yet", kinds)
	case !strings.Contains(err.Error(), webhook+`" denied the request`):
		return fmt.Errorf("try the webhooks for %s: %w", kinds, err)
	default:
		return nil
	}
}

// PatchMetadata answers with a patch of the finalizers, owners and annotations in which obj differs from
// the object of a request. The Go types may lack fields of a newer schema, which a patch of the whole
// object would drop. A comparison of whole objects would take seconds for thousands of owners.
func PatchMetadata(req admission.Request, obj metav1.Object) admission.Response {
	var sent struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}
	err := json.Unmarshal(req.Object.Raw, &sent)
	if err == nil && sent.Metadata == nil {
		err = errors.New("metadata is missing")
	}
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read metadata of %s: %w", req.Kind.Kind, err))
	}
	var operations []webhook.JSONPatchOp
	set := func(field string, value any) {
		operations = append(operations, webhook.JSONPatchOp{Operation: "add", Path: "/metadata/" + field, Value: value})
	}
	if finalizers := obj.GetFinalizers(); !slices.Equal(finalizers, sent.Metadata.Finalizers) {
		set("finalizers", finalizers)
	}
	same := func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }
	if owners := obj.GetOwnerReferences(); !slices.EqualFunc(owners, sent.Metadata.OwnerReferences, same) {
		set("ownerReferences", owners)
	}
	if annotations := obj.GetAnnotations(); !maps.Equal(annotations, sent.Metadata.Annotations) {
		set("annotations", annotations)
	}
	return admission.Patched("", operations...)
}

// Forbidden refuses a request whose author lacks a right (403).
func Forbidden(message string) admission.Response {
	return denied(http.StatusForbidden, metav1.StatusReasonForbidden, message)
}

// Unprocessable refuses an object that can never work (422).
func Unprocessable(message string) admission.Response {
	return denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message)
}

// Ask refuses a request with a message (403) unless a user has the right to an action.
func Ask(
	ctx context.Context, reviewer *authorise.Reviewer, user authenticationv1.UserInfo, action authorise.Action,
	refusal string,
) admission.Response {
	allowed, err := reviewer.Allowed(ctx, user, action)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case !allowed:
		return Forbidden(refusal)
	default:
		return admission.Allowed("")
	}
}

func denied(code int32, reason metav1.StatusReason, message string) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false,
		Result:  &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message},
	}}
}

// Decode reads the object of a request and, on update, its former state; else old is the zero
// value. The function empty returns an empty object.
func Decode[T any](req admission.Request, empty func() T) (obj, old T, err error) {
	obj = empty()
	if err := json.Unmarshal(req.Object.Raw, obj); err != nil {
		return obj, old, fmt.Errorf("read %s: %w", req.Kind.Kind, err)
	}
	if req.Operation != admissionv1.Update {
		return obj, old, nil
	}
	old = empty()
	if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
		return obj, old, fmt.Errorf("read old %s: %w", req.Kind.Kind, err)
	}
	return obj, old, nil
}

// Origin proves that the API server sent an admission review. A handler MUST NOT write, or record an event, before:
// any client that reaches the webhook may have sent the review.
type Origin interface {
	// Prove returns whether the API server has sent the review to which the context belongs. request is the request of
	// the review.
	Prove(ctx context.Context, request Repeat) Proof
}

// Proof is the answer of an [Origin].
type Proof int

const (
	// Unproven says that nothing proves it, so the review has no effect but its answer.
	Unproven Proof = iota
	// Proven says that the API server has sent the review.
	Proven
	// Pending says that the proof needs the end of the present request. The handler answers [AskAgain], and the client
	// repeats the request.
	Pending
)

// AskAgain answers 429 with Retry-After: clients of Kubernetes, such as kubectl, repeat the request after a second.
func AskAgain() admission.Response {
	response := denied(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
		"Kinship makes sure that the API server has sent this request: repeat it in a second, as kubectl does by itself")
	response.Result.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return response
}

// Repeat is the request of a review. An [Origin] sends a dry run of the same request.
type Repeat struct {
	// Resource is the resource of the object.
	Resource schema.GroupVersionResource
	// Namespace and Name name the object.
	Namespace, Name string
	// Eviction says that the request evicts the Pod, and does not delete it.
	Eviction bool
}

// RepeatOf returns the request of a review of a deletion or an eviction.
func RepeatOf(req admission.Request) Repeat {
	return Repeat{
		Resource: schema.GroupVersionResource{
			Group: req.Resource.Group, Version: req.Resource.Version, Resource: req.Resource.Resource,
		},
		Namespace: req.Namespace, Name: req.Name, Eviction: req.SubResource == "eviction",
	}
}
