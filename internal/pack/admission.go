package pack

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
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

// Denied refuses a request with a code and a reason of its own, which clients tell
// apart.
func Denied(code int32, reason metav1.StatusReason, message string) admission.Response {
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
