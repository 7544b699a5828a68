package openstack_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// testStray has a Network made while the API server deletes its object: it had no
// finalizer when that began, and the one that comes meanwhile keeps nothing. The network
// goes all the same, also where the cloud fails at first, and one of that name can be
// made.
func testStray(t *testing.T) {
	w := newWorld(t)
	secret := w.secret("later", w.clouds)
	network := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "it"}}
	network.Spec.Resource = &openstackv1alpha1.NetworkResourceSpec{}
	network.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{
		SecretName: "later", CloudName: "openstack-admin",
	}
	w.create(network)
	w.has("Network", "it", "Progressing", waitingFor("Secret/later to be created"))
	held, let := w.holdDeletion(network)
	deleted := make(chan error, 1)
	go func() { deleted <- w.c.Delete(t.Context(), network) }()
	<-held
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: http.MethodDelete, Resource: "networks", Status: 503, Times: 1})
	w.create(secret)
	testenv.Eventually(t, func() error {
		if n := w.cloud.Done()[emulator.Call{Service: "network", Method: http.MethodPost, Resource: "networks"}]; n != 1 {
			return fmt.Errorf("%d networks were made", n)
		}
		return nil
	})
	let()
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if ids := w.inCloud("network/networks", "it"); len(ids) > 0 {
			return fmt.Errorf("left in the cloud: %v", ids)
		}
		return nil
	})
	remove := emulator.Call{Service: "network", Method: http.MethodDelete, Resource: "networks"}
	if n := w.cloud.Calls()[remove]; n != 2 {
		t.Errorf("%d attempts to delete the network, want one that fails and one more", n)
	}
	network.ResourceVersion, network.UID = "", ""
	w.create(network)
	w.available("Network", "it")
}

// holdDeletion has the API server hold the deletion of a Network, once it has read it, and
// tell that; let has it go on.
func (w *world) holdDeletion(obj client.Object) (held <-chan struct{}, let func()) {
	w.t.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	var first sync.Once
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.t.Error(err)
			return
		}
		dry := review.Request.DryRun != nil && *review.Request.DryRun
		if !dry {
			first.Do(func() { close(reached); <-released })
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: !dry, Result: &metav1.Status{Message: "it would be held"},
		}
		if err := json.NewEncoder(rw).Encode(review); err != nil {
			w.t.Error(err)
		}
	}))
	w.t.Cleanup(server.Close)
	none, ignore, timeout := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore, int32(30)
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hold.test.kinship.dev", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: &ignore, TimeoutSeconds: &timeout,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.ns}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{openstackv1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"networks"},
				},
			}},
		}},
	}
	w.create(webhook)
	w.t.Cleanup(func() {
		if err := w.c.Delete(context.WithoutCancel(w.t.Context()), webhook); err != nil {
			w.t.Error(err)
		}
	})
	testenv.Eventually(w.t, func() error { // The API server learns of it by a watch.
		err := w.c.Delete(w.t.Context(), obj, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "it would be held") {
			return fmt.Errorf("deletion was answered with %w", err)
		}
		return nil
	})
	let = sync.OnceFunc(func() { close(released) })
	w.t.Cleanup(let)
	return reached, let
}
