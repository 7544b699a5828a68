package certificate

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestNoAdmissionFailsDuringRotations tests the promise of the package: a real API server calls
// a webhook with failurePolicy Fail, over a new connection each time, while the CA is replaced
// again and again.
func TestNoAdmissionFailsDuringRotations(t *testing.T) {
	namespace := testenv.Namespace(t)
	options := testOptions(t, namespace)
	options.Names = []string{"127.0.0.1"}
	options.PropagationDelay = 6 * time.Second // A busy API server hears of the new authority late.
	options.RetireAfter = 100 * time.Millisecond

	f := &follower{}
	hook := newWebhook(namespace, options.Client)
	options.OnBundle = func(ctx context.Context, bundle Bundle) error {
		return errors.Join(hook.trust(ctx, bundle.CA), f.onBundle(ctx, bundle))
	}
	m := New(options)
	before := mustEnsure(t, m)
	hook.serve(t, m, before.CA)
	start(t, m)

	stop := hook.callUntilStopped(t)
	for range 2 {
		rotate(t, m)
		rotated(t, m, before, f)
		before, _ = m.Current()
	}
	for _, err := range stop() {
		t.Errorf("an admission failed: %v", err)
	}
	if hook.handled() == 0 {
		t.Error("the webhook was never called, so this test proves nothing")
	}
	t.Logf("%d admissions", hook.handled())
}

// webhook admits ConfigMaps of one namespace.
type webhook struct {
	namespace string
	client    client.Client
	mu        sync.Mutex
	count     int
}

func newWebhook(namespace string, c client.Client) *webhook {
	return &webhook{namespace: namespace, client: c}
}

func (w *webhook) handled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// ServeHTTP admits everything.
func (w *webhook) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	w.count++
	w.mu.Unlock()
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	_ = json.NewEncoder(rw).Encode(review)
}

// serve starts the server, registers the webhook, and waits until the API server calls the
// webhook.
func (w *webhook) serve(t *testing.T, m *Manager, caPEM []byte) {
	t.Helper()
	server := httptest.NewUnstartedServer(w)
	// No HTTP/2 and no keep-alive: every call is a handshake.
	server.TLS = &tls.Config{
		GetCertificate: m.GetCertificate, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
	}
	server.Config.SetKeepAlivesEnabled(false)
	listener := tls.NewListener(server.Listener, server.TLS)
	server.Listener = listener // StartTLS would prefer its own certificate
	server.Start()
	t.Cleanup(server.Close)

	config := w.configuration("https://"+listener.Addr().String(), caPEM)
	if err := w.client.Create(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(t.Context()), config) })
	testenv.Eventually(t, func() error {
		if err := w.call(t.Context()); err != nil {
			return err
		}
		if w.handled() == 0 {
			return errors.New("the API server does not call the webhook yet")
		}
		return nil
	})
}

func (w *webhook) configuration(url string, caPEM []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    "certificates.test.kinship.dev",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: caPEM},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
				},
			}},
		}},
	}
}

// trust is an OnBundle like the operator's.
func (w *webhook) trust(ctx context.Context, caPEM []byte) error {
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.client.Get(ctx, client.ObjectKey{Name: w.namespace}, config); err != nil {
		return fmt.Errorf("read webhook configuration: %w", err)
	}
	if bytes.Equal(config.Webhooks[0].ClientConfig.CABundle, caPEM) {
		return nil
	}
	config.Webhooks[0].ClientConfig.CABundle = caPEM
	if err := w.client.Update(ctx, config); err != nil {
		return fmt.Errorf("write webhook configuration: %w", err)
	}
	return nil
}

// call requests one admission and stores nothing.
func (w *webhook) call(ctx context.Context) error {
	return w.client.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: "admission-"},
	}, client.DryRunAll)
}

// callUntilStopped calls repeatedly; the returned function stops the calls and returns their
// errors.
func (w *webhook) callUntilStopped(t *testing.T) func() []error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan []error, 1)
	go func() {
		var errs []error
		for ctx.Err() == nil && len(errs) < 5 {
			if err := w.call(ctx); err != nil && ctx.Err() == nil {
				errs = append(errs, err)
			}
		}
		failed <- errs
	}()
	return func() []error {
		cancel()
		return <-failed
	}
}

// requests counts the requests of a client.
type requests struct {
	mu                      sync.Mutex
	read, written, watching int
}

// wrap is for [rest.Config.Wrap].
func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.mu.Lock()
		switch {
		case request.URL.Query().Has("watch"):
			r.watching++
		case request.Method == http.MethodGet:
			r.read++
		default:
			r.written++
		}
		r.mu.Unlock()
		return next.RoundTrip(request)
	})
}

func (r *requests) counts() (read, written int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read, r.written
}

func (r *requests) watches() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watching
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
