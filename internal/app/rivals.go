package app

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

	"github.com/kinship-dev/kinship/internal/pack"
)

// rival is a running operator whose webhooks [Install] would point to this operator, or whose guards [Install] would
// replace by those of another --enforcement.
type rival struct {
	OperatorState

	packs []string
}

// conflict says what [Install] with Options would take from a rival.
func (r *rival) conflict(o Options, now time.Time) string {
	packs := strings.Join(r.packs, ", ")
	holder := fmt.Sprintf("%s (Lease %s, renewed %s ago)", r.Holder, r.Lease, now.Sub(r.Renewed).Round(time.Second))
	if r.Settings.Enforcement != o.Enforcement {
		return fmt.Sprintf("--enforcement: operator %s enforces pack %s by %s, and this operator would replace that by %s",
			holder, packs, r.Settings.Enforcement, o.Enforcement)
	}
	return fmt.Sprintf("--webhook-host, --webhook-port: operator %s answers the webhooks of pack %s at %s, and this "+
		"operator would have the API server call %s instead", holder, packs, r.Settings.address(), o.webhookAddress())
}

// checkRivals returns an error if another running operator answers webhooks of the packs at another address. With
// [Install], the API server would call this operator alone, and nobody once this operator ends. With
// Options.TakeWebhooks, or without Options.Install, checkRivals returns nil.
//
// An operator of an earlier release does not record its port, and is no rival. Nor is an operator that starts at the
// same time: an operator writes its Lease after the installation.
func checkRivals(ctx context.Context, o Options, c client.Client) error {
	if !o.Install || o.TakeWebhooks {
		return nil
	}
	now := time.Now()
	running, err := readLeases(ctx, c, now)
	if err != nil {
		return err
	}
	rivals, err := findRivals(ctx, o, c, running)
	if err != nil {
		return err
	}
	errs := make([]error, 0, len(rivals))
	for _, r := range rivals {
		errs = append(errs, fmt.Errorf("%s: stop that operator first, leave the packs out (--packs), "+
			"or take over from it with --take-webhooks", r.conflict(o, now)))
	}
	return errors.Join(errs...)
}

// findRivals returns the rivals among the running operators.
func findRivals(ctx context.Context, o Options, c client.Client, running leases) ([]*rival, error) {
	chosen, err := choose(o)
	if err != nil {
		return nil, err
	}
	var rivals []*rival
	for _, p := range chosen {
		hooks, err := liveWebhooks(ctx, o, c, p)
		if err != nil {
			return nil, err
		}
		for _, h := range hooks {
			holder := running.answers(p.Name, addressOf(h.config))
			if holder == nil || !lives(ctx, h.config) {
				continue
			}
			if holder.Settings.Enforcement != o.Enforcement || addressOf(h.config) != o.webhookAddress() {
				rivals = addRival(rivals, *holder, p.Name)
			}
		}
		for _, s := range running.enforcing(p.Name, pack.ByPolicy) {
			if o.Enforcement != pack.ByPolicy {
				rivals = addRival(rivals, s, p.Name)
			}
		}
	}
	return rivals, nil
}

// liveWebhooks returns the webhooks in the webhook configurations of a pack, as the cluster has them.
func liveWebhooks(ctx context.Context, o Options, c client.Client, p pack.Pack) ([]hook, error) {
	var hooks []hook
	o.Enforcement = pack.ByWebhook // Those of a running operator, whatever this operator is to use.
	for _, template := range p.Objects(o.installation(false)) {
		if webhooksOf(template) == nil {
			continue
		}
		live, err := readGuard(ctx, c, template)
		if err != nil {
			return nil, err
		}
		if live != nil {
			hooks = append(hooks, webhooksOf(live)...)
		}
	}
	return hooks, nil
}

// addRival adds a pack to the rival of a Lease.
func addRival(rivals []*rival, holder OperatorState, packName string) []*rival {
	i := slices.IndexFunc(rivals, func(r *rival) bool { return r.Lease == holder.Lease })
	if i < 0 {
		return append(rivals, &rival{holder, []string{packName}})
	}
	if !slices.Contains(rivals[i].packs, packName) {
		rivals[i].packs = append(rivals[i].packs, packName)
	}
	return rivals
}

// answers returns the running operator that has a pack and serves webhooks at an address, or nil.
func (l leases) answers(packName, address string) *OperatorState {
	i := slices.IndexFunc(l.states, func(s OperatorState) bool {
		return s.Settings != nil && slices.Contains(s.Settings.Packs, packName) && s.Settings.address() == address
	})
	if i < 0 {
		return nil
	}
	return &l.states[i]
}

// enforcing returns the running operators that have a pack with an Enforcement.
func (l leases) enforcing(packName string, by pack.Enforcement) []OperatorState {
	var all []OperatorState
	for _, s := range l.states {
		if s.Settings != nil && slices.Contains(s.Settings.Packs, packName) && s.Settings.Enforcement == by {
			all = append(all, s)
		}
	}
	return all
}

// addressOf returns the address in a clientConfig in the form of Options.webhookAddress.
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
// fresh for presenceLife.
func lives(ctx context.Context, c *admissionregistrationv1.WebhookClientConfig) bool {
	if c.URL == nil {
		return true // This process may not know the API server's way to a Service: the Lease decides.
	}
	return mayLive(callWebhook(ctx, c, ""))
}

// mayLive judges the error of callWebhook. If the address can't be reached from this process, the Lease decides.
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
