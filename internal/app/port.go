package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"syscall"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/pack"
)

// prepare returns the Options with defaults and with a port for webhooks.
func (o Options) prepare(ctx context.Context) (Options, error) {
	o, err := o.withDefaults()
	if err != nil {
		return o, err
	}
	return o.withPort(ctx)
}

// withPort sets Options.WebhookPort to the port of the last [Install], so that the clientConfig.url
// of each webhook stays valid, or to a free port.
func (o Options) withPort(ctx context.Context) (Options, error) {
	if o.WebhookPort != 0 || o.Enforcement != pack.ByWebhook {
		return o, nil
	}
	known, err := o.installedPort(ctx)
	if err != nil {
		return o, err
	}
	o.WebhookPort = known
	if known != 0 {
		err = freeport.Check(o.WebhookHost, known)
	}
	if known == 0 || errors.Is(err, syscall.EADDRINUSE) && o.Install {
		o.WebhookPort, err = freeport.Find(o.WebhookHost) // The installation tells the cluster.
	}
	if err != nil {
		return o, fmt.Errorf("find a port for webhooks: %w", err)
	}
	return o, nil
}

// installedPort returns the port in a clientConfig.url whose host is Options.WebhookHost, or 0.
func (o Options) installedPort(ctx context.Context) (int, error) {
	c, err := client.New(o.Config, client.Options{})
	if err != nil {
		return 0, fmt.Errorf("make client: %w", err)
	}
	var list admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := c.List(ctx, &list, client.MatchingLabels{partOfLabel: partOf}); err != nil {
		return 0, fmt.Errorf("read webhook configurations: %w", err)
	}
	for i := range list.Items {
		for _, webhook := range webhooksOf(&list.Items[i]) {
			if webhook.config.URL == nil {
				continue
			}
			u, err := url.Parse(*webhook.config.URL)
			if err != nil || u.Hostname() != o.WebhookHost {
				continue
			}
			if port, err := strconv.Atoi(u.Port()); err == nil {
				return port, nil
			}
		}
	}
	return 0, nil
}

// checkAddresses checks that the operator can listen at its addresses, before an installation has the API server
// call them, and that it can read the certificate of the metrics. The error names every address that is taken.
func (o Options) checkAddresses() error {
	var errs []error
	if o.Enforcement == pack.ByWebhook {
		if err := freeport.Check(o.WebhookHost, o.WebhookPort); err != nil {
			errs = append(errs, fmt.Errorf("--webhook-host, --webhook-port: listen for webhooks: %w", err))
		}
	}
	if _, err := o.metricsCertificates(); err != nil && !o.MetricsInsecure {
		errs = append(errs, err)
	}
	for _, server := range []struct{ flag, address string }{
		{"--metrics-bind-address", o.metricsAddress()},
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
