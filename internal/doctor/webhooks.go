package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/object"
)

// dialTimeout bounds the TLS handshake with the address of a webhook.
const dialTimeout = 3 * time.Second

// certificateID is the [object.ID] of the Secret with the webhooks' certificates.
var certificateID = object.ID{Kind: "Secret", Namespace: options.Namespace, Name: options.CertificateSecret}

// liveHook is a webhook of a webhook configuration in the cluster.
type liveHook struct {
	guards.Webhook
	id object.ID // of the configuration
}

// hooks returns the webhooks in the cluster that have the name of a webhook in doctor.templates.
func (d *doctor) hooks(ctx context.Context) ([]liveHook, error) {
	var all []liveHook
	for _, p := range d.chosen {
		templates := d.templates[p.Name]
		for _, id := range guards.SortedIDs(templates) {
			if guards.WebhooksOf(templates[id]) == nil {
				continue
			}
			live, err := guards.Read(ctx, d.client, templates[id])
			if err != nil {
				return nil, err
			}
			if live == nil {
				continue // checkGuards tells of a missing configuration.
			}
			ours := map[string]bool{}
			for _, h := range guards.WebhooksOf(templates[id]) {
				ours[h.Name] = true
			}
			for _, h := range guards.WebhooksOf(live) {
				if ours[h.Name] {
					all = append(all, liveHook{h, id})
				}
			}
		}
	}
	return all, nil
}

// bundle returns the certificate.Bundle in the Secret kinship-webhook-certificate, or a Finding
// about the Secret.
func (d *doctor) bundle(ctx context.Context) (certificate.Bundle, *Finding, error) {
	var secret corev1.Secret
	err := d.client.Get(ctx, client.ObjectKey{Namespace: options.Namespace, Name: options.CertificateSecret}, &secret)
	if apierrors.IsNotFound(err) {
		return certificate.Bundle{}, &Finding{
			Object: certificateID, Reason: "CertificateMissing", Message: "there is no certificate for the webhooks",
			Action: "start the operator, which creates the certificate",
		}, nil
	}
	if err != nil {
		return certificate.Bundle{}, nil, fmt.Errorf("read Secret %s: %w", options.CertificateSecret, err)
	}
	bundle, err := certificate.Read(&secret)
	if err != nil {
		return bundle, damaged(err), nil
	}
	return bundle, nil, nil
}

// damaged returns the Finding CertificateDamaged for a Secret that certificate.Read could not read.
func damaged(err error) *Finding {
	return &Finding{
		Object: certificateID, Field: "data", Reason: "CertificateDamaged", Message: err.Error(),
		Action: "delete the Secret, and start the operator again, which creates another certificate",
	}
}

// checkCertificate checks the dates of the certificate, and that the caBundle and path of each
// webhook are those in the certificate.Bundle.
func (d *doctor) checkCertificate(ctx context.Context) (int, []Finding, error) {
	hooks, err := d.hooks(ctx)
	if err != nil || len(hooks) == 0 {
		return 0, nil, err
	}
	bundle, fault, err := d.bundle(ctx)
	if err != nil {
		return 0, nil, err
	}
	if fault != nil {
		return 1, []Finding{*fault}, nil
	}
	findings := d.checkDates(bundle)
	names := map[string]bool{}
	for _, h := range hooks {
		if !bytes.Equal(h.Config.CABundle, bundle.CA) {
			findings = append(findings, h.finding("caBundle", "CABundleWrong",
				"the API server trusts another certificate than the operator's, and can't call the webhook",
				"start the operator, which corrects the field; a GitOps tool must not revert the field (docs/install.md)"))
		}
		if !strings.HasSuffix(strings.ToLower(guards.PathOf(h.Config)), "/"+bundle.Path) {
			findings = append(findings, h.finding("path", "PathWrong",
				"the path lacks its secret part, so the operator answers 404",
				"start the operator, which corrects the field; a GitOps tool must not revert the field (docs/install.md)"))
		}
		names[h.host()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := bundle.Certificate.Leaf.VerifyHostname(name); err != nil {
			findings = append(findings, Finding{
				Object: certificateID, Field: "data[tls.crt]", Reason: "CertificateName", Message: err.Error(),
				Action: "start the operator again, which renews the certificate for this name",
			})
		}
	}
	return 3 + 2*len(hooks), findings, nil
}

// checkDates finds a certificate whose NotAfter has passed or is near. The operator renews the
// serving certificate at half of its life: a certificate in its last quarter was not renewed in
// time.
func (d *doctor) checkDates(bundle certificate.Bundle) []Finding {
	leaf := bundle.Certificate.Leaf
	left := leaf.NotAfter.Sub(d.now).Round(time.Minute)
	soon := leaf.NotAfter.Sub(leaf.NotBefore) / 4
	finding := Finding{
		Object: certificateID, Field: "data[tls.crt]",
		Action: "see in the operator's log why the certificate was not renewed, and start the operator again",
	}
	switch {
	case d.now.Before(leaf.NotBefore):
		finding.Reason, finding.Message = "CertificateNotYetValid", "the certificate is valid only from "+when(leaf.NotBefore)
		finding.Action = "correct the clock of this machine or of the operator's"
	case left <= 0:
		finding.Reason, finding.Message = "CertificateEnded", "the certificate has ended on "+when(leaf.NotAfter)
	case left < soon:
		finding.Reason, finding.Message = "CertificateEndsSoon",
			fmt.Sprintf("the certificate ends on %s, in %s, and should have been renewed", when(leaf.NotAfter), left)
	default:
		return nil
	}
	return []Finding{finding}
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// finding returns a Finding about a field of clientConfig, such as caBundle.
func (h liveHook) finding(field, reason, message, action string) Finding {
	switch {
	case field == "path" && h.Config.Service != nil:
		field = "service.path"
	case field == "path":
		field = "url"
	}
	return Finding{
		Object: h.id, Field: fmt.Sprintf("webhooks[%s].clientConfig.%s", h.Name, field), Reason: reason,
		Message: message, Action: action,
	}
}

// host returns the DNS name or IP address by which the API server calls a webhook.
func (h liveHook) host() string {
	if h.Config.Service != nil {
		return fmt.Sprintf("%s.%s.svc", h.Config.Service.Name, h.Config.Service.Namespace)
	}
	u, err := url.Parse(*h.Config.URL)
	if err != nil {
		return *h.Config.URL
	}
	return u.Hostname()
}

// checkWebhooks checks the address of each webhook with checkAddress and, if all answer, calls the
// webhooks through the API server with checkCalls.
func (d *doctor) checkWebhooks(ctx context.Context) (int, []Finding, error) {
	hooks, err := d.hooks(ctx)
	if err != nil || len(hooks) == 0 {
		return 0, nil, err
	}
	addresses := map[string]liveHook{}
	for _, h := range hooks {
		addresses[h.address()] = h
	}
	var findings []Finding
	for _, address := range slices.Sorted(maps.Keys(addresses)) {
		found, err := d.checkAddress(ctx, address, addresses[address])
		if err != nil {
			return 0, nil, err
		}
		findings = append(findings, found...)
	}
	if len(findings) > 0 || len(d.leases.Running) == 0 {
		return len(addresses), findings, nil // The API server would only say the same.
	}
	called, findings := d.checkCalls(ctx, hooks)
	return len(addresses) + called, findings, nil
}

// address returns clientConfig.service as namespace/name, or host:port of clientConfig.url.
func (h liveHook) address() string {
	if h.Config.Service != nil {
		return h.Config.Service.Namespace + "/" + h.Config.Service.Name
	}
	u, err := url.Parse(*h.Config.URL)
	if err != nil {
		return *h.Config.URL
	}
	return u.Host
}

// checkAddress checks that a TLS server with the right certificate answers at clientConfig.url. For
// a clientConfig.service, checkEndpoints reads the endpoints instead, because `kinship doctor` may
// run outside the cluster.
func (d *doctor) checkAddress(ctx context.Context, address string, h liveHook) ([]Finding, error) {
	if h.Config.Service != nil {
		return d.checkEndpoints(ctx, h)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(h.Config.CABundle)
	dialer := &tls.Dialer{
		NetDialer: &net.Dialer{Timeout: dialTimeout},
		Config: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: h.host(), Time: func() time.Time { return d.now },
		},
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = connection.Close() // Nothing was sent.
		return nil, nil
	}
	return []Finding{h.finding("url", "Unreachable",
		fmt.Sprintf("the address %s does not answer, as seen from this machine: %v", address, err),
		"start the operator with this --webhook-host, or "+reinstall)}, nil
}

// checkEndpoints checks that the Service of a webhook exists, and that an EndpointSlice has a ready
// endpoint.
func (d *doctor) checkEndpoints(ctx context.Context, h liveHook) ([]Finding, error) {
	ref := h.Config.Service
	id := object.ID{Kind: "Service", Namespace: ref.Namespace, Name: ref.Name}
	err := d.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &corev1.Service{})
	if apierrors.IsNotFound(err) {
		return []Finding{{
			Object: id, Reason: "ServiceMissing", Message: "the API server calls the webhooks by this Service",
			Action: "install it again: helm upgrade. For an operator outside of the cluster, kinship operator --install " +
				"--webhook-host",
		}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Service %s: %w", ref.Name, err)
	}
	var all discoveryv1.EndpointSliceList
	err = d.client.List(ctx, &all, client.InNamespace(ref.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: ref.Name})
	if err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	for i := range all.Items {
		for _, e := range all.Items[i].Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return nil, nil
			}
		}
	}
	return []Finding{{
		Object: id, Reason: "NoEndpoints", Message: "no ready Pod is behind the Service, so every webhook refuses",
		Action: "kubectl -n " + ref.Namespace + " get pods, and read the log of a Pod that is not ready",
	}}, nil
}

// checkCalls makes the API server call the webhooks of each pack, by the dry runs of pack.Probe.
func (d *doctor) checkCalls(ctx context.Context, hooks []liveHook) (called int, findings []Finding) {
	for _, p := range d.chosen {
		if p.Probe == nil || !d.leases.Runs(p.Name) {
			continue
		}
		called++
		err := p.Probe(ctx, d.client, d.options.ProbeNamespace())
		if err == nil {
			continue
		}
		id := hooks[0].id
		for _, h := range hooks {
			if _, ours := d.templates[p.Name][h.id]; ours {
				id = h.id
				break
			}
		}
		findings = append(findings, Finding{
			Object: id, Field: "webhooks", Reason: "NotCalled", Message: err.Error(),
			Action: "read the operator's log. If the message names a right that you lack for this dry run, run kinship doctor " +
				"as an administrator",
		})
	}
	return called, findings
}
