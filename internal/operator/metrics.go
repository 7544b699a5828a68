package operator

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
	"github.com/kinship-dev/kinship/internal/tokenauth"
)

// secureMetrics and insecureMetrics are the defaults of Options.MetricsAddress.
const (
	secureMetrics   = ":8080"
	insecureMetrics = "127.0.0.1:8080"
)

// metricsAddress returns the address of the metrics server; "0" means no server.
func metricsAddress(o options.Options) string {
	if o.MetricsInsecure {
		return cmp.Or(o.MetricsAddress, insecureMetrics)
	}
	return cmp.Or(o.MetricsAddress, secureMetrics)
}

// addMetrics adds the metrics server to the manager.Manager: HTTPS for callers with the right to get /metrics or, with
// --metrics-secure=false, HTTP for every caller.
func addMetrics(ctx context.Context, o options.Options, mgr manager.Manager) error {
	served := server{name: "metrics", address: metricsAddress(o)}
	if served.address == "0" {
		return nil
	}
	metrics := promhttp.HandlerFor(ctrlmetrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	if !o.MetricsInsecure {
		gate, err := metricsGate(mgr)
		if err != nil {
			return err
		}
		metrics = gate.Protect(mgr.GetLogger().WithName("metrics"), metrics)
		if served.tls, err = metricsTLS(o, mgr); err != nil {
			return err
		}
	}
	mux := http.NewServeMux()
	mux.Handle(rights.MetricsPath, metrics)
	return served.add(ctx, mgr, mux)
}

// metricsTLS returns the TLS configuration of the metrics server. A certificate in a directory is watched by the
// manager.Manager.
func metricsTLS(o options.Options, mgr manager.Manager) (*tls.Config, error) {
	certificates, err := metricsCertificates(o)
	if err != nil {
		return nil, err
	}
	if watched, changes := certificates.(*certwatcher.CertWatcher); changes {
		if err := mgr.Add(watched); err != nil {
			return nil, fmt.Errorf("add the metrics' certificate: %w", err)
		}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}, GetCertificate: certificates.GetCertificate,
	}, nil
}

// certificateSource has the certificate of a server.
type certificateSource interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// fixed is a certificate that does not change.
type fixed tls.Certificate

// GetCertificate implements certificateSource.
func (f *fixed) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return (*tls.Certificate)(f), nil
}

// metricsCertificates returns the certificate in Options.MetricsCertDir, which may be renewed there, or a self-signed
// one.
func metricsCertificates(o options.Options) (certificateSource, error) {
	dir := o.MetricsCertDir
	if dir == "" {
		self, err := certificate.SelfSigned("kinship-metrics")
		if err != nil {
			return nil, fmt.Errorf("make the metrics' certificate: %w", err)
		}
		return (*fixed)(&self), nil
	}
	watched, err := certwatcher.New(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("--metrics-cert-dir is %q: read the metrics' certificate: %w", dir, err)
	}
	return watched, nil
}

// metricsGate returns the check of the callers of the metrics server.
func metricsGate(mgr manager.Manager) (*tokenauth.Gate, error) {
	clients, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return tokenauth.New(tokenauth.Cluster{Clients: clients}, clock.RealClock{}), nil
}
