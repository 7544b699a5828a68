package app

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/tokenauth"
)

// secureMetrics and insecureMetrics are the defaults of Options.MetricsAddress.
const (
	secureMetrics   = ":8080"
	insecureMetrics = "127.0.0.1:8080"
)

// MetricsReader is the ClusterRole with the right to get /metrics.
const MetricsReader = "kinship-metrics-reader"

// metricsPath is the URL path that [MetricsReader] gives the right to get.
const metricsPath = "/metrics"

// metrics returns the options of the metrics server: HTTPS for callers with the right to get
// /metrics or, with --metrics-secure=false, HTTP for every caller.
func (o Options) metrics() (metricsserver.Options, error) {
	if o.MetricsInsecure {
		return metricsserver.Options{BindAddress: cmp.Or(o.MetricsAddress, insecureMetrics)}, nil
	}
	served := metricsserver.Options{
		BindAddress: cmp.Or(o.MetricsAddress, secureMetrics), SecureServing: true,
		FilterProvider: protectMetrics, CertDir: o.MetricsCertDir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion, c.NextProtos = tls.VersionTLS13, []string{"http/1.1"}
		}},
	}
	if served.BindAddress == "0" {
		return served, nil
	}
	if dir := o.MetricsCertDir; dir != "" { // Without the file, controller-runtime would serve a self-signed certificate.
		if _, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")); err != nil {
			return served, fmt.Errorf("--metrics-cert-dir is %q: read the metrics' certificate: %w", dir, err)
		}
	} else {
		self, err := certificate.SelfSigned("kinship-metrics")
		if err != nil {
			return served, fmt.Errorf("make the metrics' certificate: %w", err)
		}
		served.TLSOpts = append(served.TLSOpts, func(c *tls.Config) {
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &self, nil }
		})
	}
	return served, nil
}

// protectMetrics implements metricsserver.Options.FilterProvider.
func protectMetrics(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	clients, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	gate := tokenauth.New(tokenauth.Cluster{Clients: clients}, clock.RealClock{})
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return gate.Protect(log, handler), nil
	}, nil
}

// checkLoopback returns an error unless the host of an address is localhost or a loopback IP, such
// as 127.0.0.1.
func checkLoopback(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not an address of the loopback interface", address)
	}
	return nil
}
