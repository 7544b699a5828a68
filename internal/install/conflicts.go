package install

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
)

// conflict is a running operator whose webhooks [Install] would point to this operator, or whose guards [Install] would
// replace by those of another --enforcement.
type conflict struct {
	presence.OperatorState

	packs []string
}

// text says what [Install] with Options would take from another operator.
func (c *conflict) text(o options.Options, now time.Time) string {
	packs := strings.Join(c.packs, ", ")
	holder := fmt.Sprintf("%s (Lease %s, renewed %s ago)", c.Holder, c.Lease, now.Sub(c.Renewed).Round(time.Second))
	if c.Settings.Enforcement != o.Enforcement {
		return fmt.Sprintf("--enforcement: operator %s enforces pack %s by %s, and this operator would replace that by %s",
			holder, packs, c.Settings.Enforcement, o.Enforcement)
	}
	return fmt.Sprintf("--webhook-host, --webhook-port: operator %s answers the webhooks of pack %s at %s, and this "+
		"operator would have the API server call %s instead", holder, packs, c.Settings.Address(), o.WebhookAddress())
}

// checkConflicts returns an error if another running operator answers webhooks of the packs at another address. With
// [Install], the API server would call this operator alone, and nobody once this operator ends. With
// Options.TakeWebhooks, or without Options.Install, checkConflicts returns nil.
//
// An operator of an earlier release does not record its port, and is no conflict. Nor is an operator that starts at the
// same time: an operator writes its Lease after the installation.
func checkConflicts(ctx context.Context, o options.Options, c client.Client) error {
	if !o.Install || o.TakeWebhooks {
		return nil
	}
	now := time.Now()
	running, err := presence.ReadOperators(ctx, c, now)
	if err != nil {
		return err
	}
	conflicts, err := findConflicts(ctx, o, c, running)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(conflicts))
	for _, one := range conflicts {
		errs = append(errs, fmt.Errorf("%s: stop that operator first, leave the packs out (--packs), "+
			"or take over from it with --take-webhooks", one.text(o, now)))
	}
	return errors.Join(errs...)
}

// findConflicts returns the conflicts with running operators.
func findConflicts(
	ctx context.Context, o options.Options, c client.Client, running presence.Operators,
) ([]*conflict, error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	var conflicts []*conflict
	for _, p := range chosen {
		hooks, err := liveWebhooks(ctx, o, c, p)
		if err != nil {
			return nil, err
		}
		for _, h := range hooks {
			holder := running.Answers(p.Name, addressOf(h.Config))
			if holder == nil || !lives(ctx, h.Config) {
				continue
			}
			if holder.Settings.Enforcement != o.Enforcement || addressOf(h.Config) != o.WebhookAddress() {
				conflicts = addConflict(conflicts, *holder, p.Name)
			}
		}
		for _, s := range running.Enforcing(p.Name, pack.ByPolicy) {
			if o.Enforcement != pack.ByPolicy {
				conflicts = addConflict(conflicts, s, p.Name)
			}
		}
	}
	return conflicts, nil
}

// liveWebhooks returns the webhooks in the webhook configurations of a pack, as the cluster has them.
func liveWebhooks(ctx context.Context, o options.Options, c client.Client, p pack.Pack) ([]guards.Webhook, error) {
	var hooks []guards.Webhook
	o.Enforcement = pack.ByWebhook // Those of a running operator, whatever this operator is to use.
	for _, template := range p.Objects(o.Installation(false)) {
		if guards.WebhooksOf(template) == nil {
			continue
		}
		live, err := guards.Read(ctx, c, template)
		if err != nil {
			return nil, err
		}
		if live != nil {
			hooks = append(hooks, guards.WebhooksOf(live)...)
		}
	}
	return hooks, nil
}

// addConflict adds a pack to the conflict with the operator of a Lease.
func addConflict(conflicts []*conflict, holder presence.OperatorState, packName string) []*conflict {
	i := slices.IndexFunc(conflicts, func(r *conflict) bool { return r.Lease == holder.Lease })
	if i < 0 {
		return append(conflicts, &conflict{holder, []string{packName}})
	}
	if !slices.Contains(conflicts[i].packs, packName) {
		conflicts[i].packs = append(conflicts[i].packs, packName)
	}
	return conflicts
}

// addressOf returns the address in a clientConfig in the form of Options.WebhookAddress.
func addressOf(c *admissionregistrationv1.WebhookClientConfig) string {
	if c.Service != nil {
		return "Service " + c.Service.Name
	}
	if c.URL == nil {
		return ""
	}
	u, err := url.Parse(*c.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// lives reports whether the operator at the address of a webhook may still live. The Lease of a killed operator is
// fresh for Life.
func lives(ctx context.Context, c *admissionregistrationv1.WebhookClientConfig) bool {
	if c.URL == nil {
		return true // This process may not know the API server's way to a Service: the Lease decides.
	}
	return mayLive(guards.Call(ctx, c, ""))
}

// mayLive judges the error of Call. If the address can't be reached from this process, the Lease decides.
func mayLive(err error) bool {
	var dial *net.OpError
	switch {
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		return true
	case errors.Is(err, syscall.ECONNREFUSED):
		return false // No process listens there.
	default:
		return errors.As(err, &dial) && dial.Op == "dial" // Else another program has the port.
	}
}
