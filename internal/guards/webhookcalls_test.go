package guards

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kinshipadmission "github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

// webhookRig is a webhook server with one webhook, and the configuration by which it is called.
type webhookRig struct {
	*webhookCalls

	id      object.ID
	hook    *webhook.Admission
	server  *httptest.Server
	config  *admissionregistrationv1.ValidatingWebhookConfiguration
	log     bytes.Buffer
	answers admission.Response
}

const openName = "/hook"

func newWebhookRig(t *testing.T) *webhookRig {
	t.Helper()
	r := &webhookRig{
		id:     object.ID{Group: guard.ConfigurationKind.Group, Kind: guard.ConfigurationKind.Kind, Name: "guard"},
		config: &admissionregistrationv1.ValidatingWebhookConfiguration{}, answers: admission.Allowed(""),
	}
	all := kinshipadmission.NewMetrics()
	hooks := kinshipadmission.NewServer(kinshipadmission.Options{Certificates: onePath("secret")}, all)
	answer := func(context.Context, admission.Request) admission.Response { return r.answers }
	r.hook = &webhook.Admission{Handler: admission.HandlerFunc(answer)}
	hooks.Register(openName, r.hook)
	r.server = httptest.NewTLSServer(hooks.WebhookMux())
	t.Cleanup(r.server.Close)
	address := r.server.URL + openName + "/secret"
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	r.config.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name:         "judge.kinship.dev",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: authority},
	}}
	log := logr.FromSlogHandler(slog.NewTextHandler(&r.log, nil))
	r.webhookCalls = newWebhookCalls(options.Options{}, newProtection("usage", []string{keyOf(r.id), "other"}, log), all)
	return r
}

// onePath are Certificates with one secret path.
type onePath string

func (onePath) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }

func (onePath) Suspect(string) {}

func (p onePath) Current() (certificate.Bundle, bool) {
	return certificate.Bundle{Path: string(p)}, true
}

func (p onePath) Check(_ context.Context, path string) (certificate.Standing, error) {
	if path == string(p) {
		return certificate.Present, nil
	}
	return certificate.Unknown, nil
}

// isOff calls the webhook twice, since one failure does not count, and returns the metric.
func (r *webhookRig) isOff(t *testing.T) float64 {
	t.Helper()
	r.follow(map[object.ID]client.Object{r.id: r.config})
	r.ask(t.Context())
	r.ask(t.Context())
	all := testutil.CollectAndCount(r.protection)
	if all != 2 {
		t.Errorf("the metric has %d guards, want 2", all)
	}
	text, err := testutil.CollectAndFormat(r.protection, expfmt.TypeTextPlain, "kinship_protection_off")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), `kinship_protection_off{guard="`+keyOf(r.id)+`",pack="usage"} 1`) {
		return 1
	}
	return 0
}

// TestAnswering changes how the API server would reach a webhook. The metric and one line of the log
// say that the webhook does not answer, without the secret path.
func TestAnswering(t *testing.T) {
	for reason, break1 := range map[string]func(r *webhookRig){
		"the path is another one": func(r *webhookRig) {
			other := r.server.URL + openName + "/former"
			r.config.Webhooks[0].ClientConfig.URL = &other
		},
		"the CA is another one": func(r *webhookRig) { r.config.Webhooks[0].ClientConfig.CABundle = []byte("none") },
		"the server has ended":  func(r *webhookRig) { r.server.Close() },
	} {
		t.Run(reason, func(t *testing.T) {
			r := newWebhookRig(t)
			if r.isOff(t) != 0 {
				t.Fatalf("a webhook that answers counts as silent: %s", &r.log)
			}
			break1(r)
			for range 2 { // The second look logs nothing again.
				if r.isOff(t) != 1 {
					t.Error("the metric does not show it")
				}
			}
			log := r.log.String()
			if strings.Count(log, `level=WARN msg="Protection is off"`) != 1 || !strings.Contains(log, "judge.kinship.dev") {
				t.Errorf("want one line with the webhook, got %s", log)
			}
			if strings.Contains(log, "secret") || strings.Contains(log, "former") {
				t.Errorf("the log has the secret path: %s", log)
			}
		})
	}
}

// TestAnsweringOnce: a single failure, as while a certificate is renewed, is not reported.
func TestAnsweringOnce(t *testing.T) {
	r := newWebhookRig(t)
	right := r.config.Webhooks[0].ClientConfig.CABundle
	r.config.Webhooks[0].ClientConfig.CABundle = []byte("none")
	r.follow(map[object.ID]client.Object{r.id: r.config})
	if pause := r.ask(t.Context()); pause != askSoon {
		t.Errorf("the next call is in %s, want %s", pause, askSoon)
	}
	r.config.Webhooks[0].ClientConfig.CABundle = right
	if r.isOff(t) != 0 || r.log.Len() > 0 {
		t.Errorf("one failure is reported: %s", &r.log)
	}
}

// TestAnsweringFailures counts the answers of a handler that can't decide, and no refusals. The webhook does
// answer, so its configuration does not count as silent.
func TestAnsweringFailures(t *testing.T) {
	r := newWebhookRig(t)
	for _, step := range []struct {
		reason string
		answer admission.Response
		total  float64
	}{
		{"a refusal is an answer", admission.Denied("no"), 0},
		{"a failure", admission.Errored(http.StatusInternalServerError, errors.New("no API server")), 1},
		{"an answer after failures", admission.Allowed(""), 1},
	} {
		r.answers = step.answer
		r.hook.Handle(t.Context(), admission.Request{})
		if r.isOff(t) != 0 {
			t.Errorf("%s: the webhook counts as silent: %s", step.reason, &r.log)
		}
		want := fmt.Sprintf("kinship_admission_failures_total{webhook=%q} %v\n", openName, step.total)
		text, err := testutil.CollectAndFormat(r.metrics, expfmt.TypeTextPlain, "kinship_admission_failures_total")
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: got %s, want %s (error %v)", step.reason, text, want, err)
		}
	}
}

// TestAnsweringWhileChanged: two writers fight for a configuration, so that it changes each second. Its
// webhooks are called all the same.
func TestAnsweringWhileChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		all := kinshipadmission.NewMetrics()
		kinshipadmission.NewServer(kinshipadmission.Options{}, all).Register(openName, http.NotFoundHandler())
		a := newWebhookCalls(options.Options{}, newProtection("usage", []string{"guard"},
			logr.FromSlogHandler(slog.NewTextHandler(log, nil))), all) // Nothing serves port 0.
		path := openName + "/secret"
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- a.run(ctx) }()
		for version := range 10 {
			config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
			config.ResourceVersion = strconv.Itoa(version)
			service := &admissionregistrationv1.ServiceReference{Namespace: "a", Name: "b", Path: &path}
			config.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
				ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: service},
			}}
			a.follow(map[object.ID]client.Object{{Name: "guard"}: config})
			<-time.After(time.Second) // Of the clock of synctest.
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if !strings.Contains(log.String(), "Protection is off") {
			t.Errorf("the webhooks were not called twice: %s", log)
		}
	})
}

// TestProtectionLog: a reason that differs by a port or a time alone is not logged again.
func TestProtectionLog(t *testing.T) {
	log := &bytes.Buffer{}
	p := newProtection("usage", []string{"a", "b"}, logr.FromSlogHandler(slog.NewTextHandler(log, nil)))
	for i, step := range []struct {
		silent map[string]string
		lines  int
	}{
		{map[string]string{"a": "read tcp 127.0.0.1:1->127.0.0.1:9: read: connection reset by peer"}, 1},
		{map[string]string{"a": "read tcp 127.0.0.1:27->127.0.0.1:9: read: connection reset by peer"}, 1},
		{map[string]string{"a": "current time 2026-01-02T03:04:05Z is after 2026-01-01T00:00:00Z"}, 2},
		{map[string]string{"a": "current time 2026-01-02T03:05:05Z is after 2026-01-01T00:00:00Z"}, 2},
		{map[string]string{"b": "current time 2026-01-02T03:06:05Z is after 2026-01-01T00:00:00Z"}, 3},
		{nil, 4}, // "Protection is on again"
	} {
		p.setSilent(step.silent)
		if n := strings.Count(log.String(), "\n"); n != step.lines {
			t.Errorf("step %d: %d lines, want %d: %s", i, n, step.lines, log)
		}
	}
}
