package app

import (
	"crypto/tls"
	"strings"
	"testing"
)

// TestMetricsAddress: by default, metrics are served on every address by HTTPS, and by HTTP only on the loopback
// interface.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		options Options
		address string
	}{
		"by default":               {Options{}, ":8080"},
		"elsewhere":                {Options{MetricsAddress: ":9090"}, ":9090"},
		"not at all":               {Options{MetricsAddress: "0"}, "0"},
		"by HTTP":                  {Options{MetricsInsecure: true}, "127.0.0.1:8080"},
		"by HTTP, where asked for": {Options{MetricsInsecure: true, MetricsAddress: ":9090"}, ":9090"},
	} {
		if got := tt.options.metricsAddress(); got != tt.address {
			t.Errorf("%s: %s, want %s", reason, got, tt.address)
		}
	}
	certificates, err := Options{}.metricsCertificates()
	if err != nil {
		t.Fatal(err)
	}
	if self, err := certificates.GetCertificate(&tls.ClientHelloInfo{}); self == nil || err != nil {
		t.Errorf("the certificate is %v: %v", self, err)
	}
	if _, err := (Options{MetricsCertDir: t.TempDir()}).metricsCertificates(); err == nil {
		t.Error("a directory without a certificate is taken")
	}
}

// TestProfileAddress: profiles, which anybody may read, are not served to others.
func TestProfileAddress(t *testing.T) {
	t.Parallel()
	for address, fine := range map[string]bool{
		"": true, "0": true, "127.0.0.1:6060": true, "[::1]:6060": true, "localhost:6060": true,
		":6060": false, "0.0.0.0:6060": false, "[::]:6060": false, "10.0.0.1:6060": false, "example.com:6060": false,
		"127.0.0.1": false,
	} {
		_, err := Options{ProfileAddress: address}.withDefaults()
		if (err == nil) != fine || (err != nil && !strings.Contains(err.Error(), address)) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
