package operator

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// patience is how long announcer.Start polls before the log has the line "Not ready yet". Each next line comes
// after twice the time.
const patience = 5 * time.Second

// announcer logs Ready, and calls Options.Ready, when every pack is settled and the API server
// reaches this process's webhooks.
type announcer struct {
	options options.Options
	packs   []pack.Pack
	mgr     manager.Manager
	own     []*packManager
	serving serving
	client  client.Client
	reached atomic.Bool
}

func newAnnouncer(
	o options.Options, chosen []pack.Pack, mgr manager.Manager, own []*packManager, serving serving,
) (*announcer, error) {
	// pack.Probe creates objects of the packs by dry run. The user in Options.Config, who installs,
	// has the right to create such objects; the operator's own ServiceAccount, [options.Account], has not.
	c, err := client.New(o.Config, client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &announcer{options: o, packs: chosen, mgr: mgr, own: own, serving: serving, client: c}, nil
}

// add adds the announcer to the manager.Manager and, with --webhook-host, the readiness check
// "reached".
func (a *announcer) add() error {
	if err := a.mgr.Add(a); err != nil {
		return fmt.Errorf("add announcer: %w", err)
	}
	if a.options.WebhookHost == "" {
		return nil // A Service forwards only to ready Pods, so the webhook can't be reached before.
	}
	err := a.mgr.AddReadyzCheck("reached", func(r *http.Request) error { return a.answers(r.Context()) })
	if err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}

// Start implements manager.Runnable.
func (a *announcer) Start(ctx context.Context) error {
	start, soon := time.Now(), patience
	ready := func(ctx context.Context) (bool, error) {
		err := a.unready(ctx)
		if err != nil && time.Since(start) > soon {
			a.options.Log.Info("Not ready yet", "reason", err.Error())
			soon *= 2
		}
		return err == nil, nil
	}
	if wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, ready) == nil {
		a.options.Log.Info("Ready")
		if a.options.Ready != nil {
			a.options.Ready()
		}
	}
	return nil // That the operator ended first is not this runnable's to report.
}

// unready returns why the operator is not ready: a pack is not settled, or the API server does not reach the
// webhooks.
func (a *announcer) unready(ctx context.Context) error {
	for _, m := range a.own {
		if err := m.unsettled(); err != nil {
			return err
		}
	}
	return a.answers(ctx)
}

// answers returns why the API server does not reach the webhooks yet. Only after --install does
// answers call pack.Probe: webhooks of an earlier installation are reached already.
func (a *announcer) answers(ctx context.Context) error {
	if a.serving.server == nil || a.reached.Load() {
		return nil
	}
	if err := a.serving.server.StartedChecker()(nil); err != nil {
		return err
	}
	for _, p := range a.packs {
		if !a.options.Install || p.Probe == nil {
			continue
		}
		if err := p.Probe(ctx, a.client, a.options.ProbeNamespace()); err != nil {
			return err
		}
	}
	a.reached.Store(true)
	return nil
}
