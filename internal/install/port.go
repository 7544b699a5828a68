package install

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"syscall"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/freeport"
	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// Prepare returns the Options with defaults and with a port for webhooks.
func Prepare(ctx context.Context, o options.Options) (options.Options, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return o, err
	}
	return withPort(ctx, o)
}

// withPort sets Options.WebhookPort to the port of the last [Install], so that the clientConfig.url
// of each webhook stays valid, or to a free port.
func withPort(ctx context.Context, o options.Options) (options.Options, error) {
	if o.WebhookPort != 0 || o.Enforcement != pack.ByWebhook {
		return o, nil
	}
	known, err := installedPort(ctx, o)
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
func installedPort(ctx context.Context, o options.Options) (int, error) {
	c, err := client.New(o.Config, client.Options{})
	if err != nil {
		return 0, fmt.Errorf("make client: %w", err)
	}
	var list admissionregistrationv1.ValidatingWebhookConfigurationList
	if err := c.List(ctx, &list, client.MatchingLabels{options.PartOfLabel: options.PartOf}); err != nil {
		return 0, fmt.Errorf("read webhook configurations: %w", err)
	}
	for i := range list.Items {
		for _, webhook := range guards.WebhooksOf(&list.Items[i]) {
			if webhook.Config.URL == nil {
				continue
			}
			u, err := url.Parse(*webhook.Config.URL)
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
