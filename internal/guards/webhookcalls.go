package guards

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/object"
)

// webhookCalls.ask runs every askEvery, and askSoon after a change of a webhook configuration or after
// a failure. The TrustWriter needs a moment to correct a changed configuration, so ask reports a
// webhook only after two failures in a row.
const (
	askEvery   = time.Minute
	askSoon    = 2 * time.Second
	askTimeout = 5 * time.Second
)

// webhookCalls calls the webhooks of a pack as the API server does: with the address, caBundle and
// secret path of each webhook configuration. webhookCalls sends no request to the API server.
type webhookCalls struct {
	// address is host and port of this process's webhook server. webhookCalls calls a
	// clientConfig.service at address too, since a Pod does not know the API server's way to a
	// Service.
	address    string
	protection *protection
	metrics    *admission.Metrics
	changed    chan struct{}

	// configurations to call, which follow replaces as a whole.
	configurations atomic.Pointer[map[object.ID]client.Object]

	missed map[string]int // calls in a row without an answer, by guard
}

func newWebhookCalls(o options.Options, p *protection, m *admission.Metrics) *webhookCalls {
	host := o.WebhookHost
	if host == "" {
		host = "127.0.0.1"
	}
	a := &webhookCalls{
		address: net.JoinHostPort(host, strconv.Itoa(o.WebhookPort)), protection: p, metrics: m,
		changed: make(chan struct{}, 1), missed: map[string]int{},
	}
	a.configurations.Store(&map[object.ID]client.Object{})
	return a
}

// follow replaces the configurations to call. Only one goroutine calls follow.
func (a *webhookCalls) follow(live map[object.ID]client.Object) {
	known := *a.configurations.Load()
	same := len(known) > 0
	configurations := map[object.ID]client.Object{}
	for id, obj := range live {
		if WebhooksOf(obj) == nil {
			continue
		}
		before := known[id]
		same = same && before != nil && before.GetResourceVersion() == obj.GetResourceVersion()
		configurations[id] = obj
	}
	a.configurations.Store(&configurations)
	if same {
		return
	}
	select {
	case a.changed <- struct{}{}:
	default: // A call is due already.
	}
}

// run calls ask until the context ends.
func (a *webhookCalls) run(ctx context.Context) error {
	next := time.Now().Add(askEvery)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.changed:
			// A later change does not put the call off: two writers that undo each other's changes would
			// put it off for ever.
			if soon := time.Now().Add(askSoon); soon.Before(next) {
				next = soon
			}
			continue
		case <-time.After(time.Until(next)):
		}
		next = time.Now().Add(a.ask(ctx))
	}
}

// ask calls every webhook in configurations, reports silent webhooks to protection.setSilent, and
// returns the pause until the next ask.
func (a *webhookCalls) ask(ctx context.Context) time.Duration {
	silent, pause := map[string]string{}, askEvery
	for id, obj := range *a.configurations.Load() {
		guard := keyOf(id)
		err := a.callAll(ctx, obj)
		if ctx.Err() != nil {
			return pause
		}
		if err == nil {
			delete(a.missed, guard)
			continue
		}
		a.missed[guard]++
		if a.missed[guard] == 1 {
			pause = askSoon
			continue
		}
		silent[guard] = err.Error()
	}
	a.protection.setSilent(silent)
	return pause
}

// callAll returns why a webhook of a configuration does not answer.
func (a *webhookCalls) callAll(ctx context.Context, configuration client.Object) error {
	var called []string
	for _, h := range WebhooksOf(configuration) {
		path := openPath(PathOf(h.Config))
		if !a.metrics.Serves(path) || slices.Contains(called, path) {
			continue // Webhooks of others may be in the same configuration.
		}
		called = append(called, path)
		if err := Call(ctx, h.Config, a.address); err != nil {
			return fmt.Errorf("not answered: webhook %s: %w", h.Name, err)
		}
	}
	return nil
}

// Call sends an HTTP HEAD request to a webhook. admission.Server answers 204 if the path ends in
// the secret part. Call calls a clientConfig.service at the given address.
func Call(ctx context.Context, c *admissionregistrationv1.WebhookClientConfig, address string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.CABundle)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	target := "https://" + address + PathOf(c)
	switch {
	case c.URL != nil:
		target = *c.URL
	case c.Service != nil:
		config.ServerName = fmt.Sprintf("%s.%s.svc", c.Service.Name, c.Service.Namespace)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, target, nil)
	if err != nil {
		return errors.New("its address is not valid") // The text of err has the secret path.
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err // Without the secret path, which only an http.Client would add.
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the server at %s does not know its path (%s)", request.URL.Host, response.Status)
	}
	return nil
}

// openPath returns the path of a webhook without its secret part: /usage for /usage/SECRET.
func openPath(path string) string {
	open, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + open
}
