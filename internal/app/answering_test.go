package app

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

// webhookRig is a webhook server with one webhook, and the configuration by which it is called.
type webhookRig struct {
	*answering

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
	var hooks registrar
	secret := func() (certificate.Bundle, bool) { return certificate.Bundle{Path: "secret"}, true }
	all := newFailures()
	answer := func(context.Context, admission.Request) admission.Response { return r.answers }
	r.hook = &webhook.Admission{Handler: admission.HandlerFunc(answer)}
	hidden{&hooks, secret, all}.Register(openName, r.hook)
	r.server = httptest.NewTLSServer(&hooks.ServeMux)
	t.Cleanup(r.server.Close)
	address := r.server.URL + openName + "/secret"
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
	r.config.Webhooks = []admissionregistrationv1.ValidatingWebhook{{
		Name:         "judge.kinship.dev",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &address, CABundle: authority},
	}}
	log := logr.FromSlogHandler(slog.NewTextHandler(&r.log, nil))
	r.answering = newAnswering(Options{}, newProtection("usage", []string{keyOf(r.id), "other"}, log), all)
	return r
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

// TestAnsweringFailures: a handler that can't decide counts, and a refusal does not.
func TestAnsweringFailures(t *testing.T) {
	r := newWebhookRig(t)
	for _, step := range []struct {
		reason string
		answer admission.Response
		off    float64
		total  float64
	}{
		{"a refusal is an answer", admission.Denied("no"), 0, 0},
		{"a failure", admission.Errored(http.StatusInternalServerError, errors.New("no API server")), 1, 2},
		{"an answer after failures", admission.Allowed(""), 0, 2},
	} {
		r.answers = step.answer
		r.follow(map[object.ID]client.Object{r.id: r.config})
		for range 2 {
			r.hook.Handle(t.Context(), admission.Request{})
			r.ask(t.Context())
		}
		text, err := testutil.CollectAndFormat(r.protection, expfmt.TypeTextPlain, "kinship_protection_off")
		if err != nil {
			t.Fatal(err)
		}
		if off := float64(strings.Count(string(text), "} 1\n")); off != step.off {
			t.Errorf("%s: %v guards are off, want %v", step.reason, off, step.off)
		}
		if total := testutil.ToFloat64(r.failures.total.WithLabelValues(openName)); total != step.total {
			t.Errorf("%s: %v failures, want %v", step.reason, total, step.total)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "Protection is on again") || !strings.Contains(log, "no API server") {
		t.Errorf("the log says %s", log)
	}
}
