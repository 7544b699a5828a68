package operator

import (
	"errors"
	"fmt"
	"net"

	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// checkAddresses checks that the operator can listen at its addresses, before an installation has the API server
// call them, and that it can read the certificate of the metrics. The error names every address that is taken.
func checkAddresses(o options.Options) error {
	var errs []error
	if o.Enforcement == pack.ByWebhook {
		if err := freeport.Check(o.WebhookHost, o.WebhookPort); err != nil {
			errs = append(errs, fmt.Errorf("--webhook-host, --webhook-port: listen for webhooks: %w", err))
		}
	}
	if _, err := metricsCertificates(o); err != nil && !o.MetricsInsecure {
		errs = append(errs, err)
	}
	for _, server := range []struct{ flag, address string }{
		{"--metrics-bind-address", metricsAddress(o)},
		{"--health-probe-bind-address", o.HealthAddress},
		{"--pprof-bind-address", o.ProfileAddress},
	} {
		if server.address == "" || server.address == "0" {
			continue
		}
		listener, err := net.Listen("tcp", server.address)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: %w", server.flag, server.address, err))
			continue
		}
		if err := listener.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s is %q: %w", server.flag, server.address, err))
		}
	}
	return errors.Join(errs...)
}
