package testenv

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// JudgeDeletions has the API server ask judge, by a webhook, whether an object of a
// namespace and resource may be deleted, dry runs included; nil allows it. It waits up to
// 30 s for the answer. Until the test ends; a namespace has one at a time.
//
// The API server learns of it a moment later: the test has to wait until it sees that.
func JudgeDeletions(
	tb testing.TB, namespace string, resource schema.GroupVersionResource,
	judge func(*admissionv1.AdmissionRequest) *metav1.Status,
) {
	tb.Helper()
	c := Client(tb, nil)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			tb.Error(err)
			return
		}
		refusal := judge(review.Request)
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: refusal == nil, Result: refusal,
		}
		if err := json.NewEncoder(w).Encode(review); err != nil {
			tb.Error(err)
		}
	}))
	tb.Cleanup(server.Close)
	// Deletions after the end of the test must not fail because the judge is gone.
	ignore, none, timeout := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone, int32(30)
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "judge.test.kinship.dev", AdmissionReviewVersions: []string{"v1"},
			SideEffects: &none, FailurePolicy: &ignore, TimeoutSeconds: &timeout,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{resource.Group}, APIVersions: []string{resource.Version},
					Resources: []string{resource.Resource},
				},
			}},
		}},
	}
	if err := c.Create(tb.Context(), webhook); err != nil {
		tb.Fatalf("testenv: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(tb.Context()), webhook); err != nil {
			tb.Errorf("testenv: %v", err)
		}
	})
}
