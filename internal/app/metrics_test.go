package app

import (
	"crypto/tls"
	"strings"
	"testing"
)

// TestMetricsOptions: by default, metrics are served to no remote client without a token.
func TestMetricsOptions(t *testing.T) {
	t.Parallel()
	for reason, tt := range map[string]struct {
		options Options
		address string
		secure  bool
	}{
		"by default":               {Options{}, ":8080", true},
		"elsewhere":                {Options{MetricsAddress: ":9090"}, ":9090", true},
		"not at all":               {Options{MetricsAddress: "0"}, "0", true},
		"by HTTP":                  {Options{MetricsInsecure: true}, "127.0.0.1:8080", false},
		"by HTTP, where asked for": {Options{MetricsInsecure: true, MetricsAddress: ":9090"}, ":9090", false},
	} {
		got, err := tt.options.metrics()
		if err != nil {
			t.Fatal(err)
		}
		if got.BindAddress != tt.address || got.SecureServing != tt.secure || (got.FilterProvider != nil) != tt.secure {
			t.Errorf("%s: %s, secure %t, protected %t", reason, got.BindAddress, got.SecureServing, got.FilterProvider != nil)
		}
	}
	served, err := Options{}.metrics()
	if err != nil {
		t.Fatal(err)
	}
	var config tls.Config
	for _, change := range served.TLSOpts {
		change(&config)
	}
	if config.MinVersion != tls.VersionTLS13 || config.GetCertificate == nil {
		t.Errorf("TLS %x, a certificate %t", config.MinVersion, config.GetCertificate != nil)
	}
	if _, err := (Options{MetricsCertDir: t.TempDir()}).metrics(); err == nil {
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
