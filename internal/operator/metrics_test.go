package operator

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/options"
)

// TestMetricsAddress: by default, metrics are served on every address by HTTPS, and by HTTP only on the loopback
// interface.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		options options.Options
		address string
	}{
		"by default":               {options.Options{}, ":8080"},
		"elsewhere":                {options.Options{MetricsAddress: ":9090"}, ":9090"},
		"not at all":               {options.Options{MetricsAddress: "0"}, "0"},
		"by HTTP":                  {options.Options{MetricsInsecure: true}, "127.0.0.1:8080"},
		"by HTTP, where asked for": {options.Options{MetricsInsecure: true, MetricsAddress: ":9090"}, ":9090"},
	} {
		if got := metricsAddress(tt.options); got != tt.address {
			t.Errorf("%s: %s, want %s", reason, got, tt.address)
		}
	}
	certificates, err := metricsCertificates(options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if self, err := certificates.GetCertificate(&tls.ClientHelloInfo{}); self == nil || err != nil {
		t.Errorf("the certificate is %v: %v", self, err)
	}
	if _, err := metricsCertificates(options.Options{MetricsCertDir: t.TempDir()}); err == nil {
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
		_, err := options.Options{ProfileAddress: address}.WithDefaults()
		if (err == nil) != fine || (err != nil && !strings.Contains(err.Error(), address)) {
			t.Errorf("%q: %v", address, err)
		}
	}
}
