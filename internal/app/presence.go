package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Each running operator renews a Lease of its own, such as kinship-running-x7k2p. [Uninstall] finds
// running operators by these Leases. The Lease of the leader election would show only one replica,
// and only with --leader-elect.
const (
	presencePrefix = "kinship-running-"
	presenceRenew  = 30 * time.Second
	// presenceLife is how long a killed operator counts as running.
	presenceLife = 90 * time.Second
	// presenceTimeout bounds a request of an operator that ends.
	presenceTimeout = 2 * time.Second
)

// presence renews the operator's Lease while the operator runs.
type presence struct {
	client client.Client
	log    logr.Logger
	name   string // of the Lease
	// settings is the value of settingsAnnotation.
	settings string
}

func newPresence(o Options, c client.Client) (presence, error) {
	settings, err := o.settings()
	if err != nil {
		return presence{}, err
	}
	text, err := settings.text()
	if err != nil {
		return presence{}, err
	}
	return presence{
		client: c, log: o.Log.WithName("presence"), name: presencePrefix + rand.String(5), settings: text,
	}, nil
}

// Start implements manager.Runnable.
func (p presence) Start(ctx context.Context) error {
	lease := p.announce(ctx)
	for tick := time.NewTicker(presenceRenew); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			p.leave(context.WithoutCancel(ctx), p.name)
			return nil
		case <-tick.C:
			lease = p.renew(ctx, lease)
		}
	}
}

// NeedLeaderElection makes the manager.Manager run presence in every replica.
func (p presence) NeedLeaderElection() bool { return false }

// announce creates the operator's Lease, and deletes the Leases of killed operators.
func (p presence) announce(ctx context.Context) *coordinationv1.Lease {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: Namespace, Name: p.name, Annotations: map[string]string{settingsAnnotation: p.settings},
	}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: new(fmt.Sprintf("%s_%d", host, os.Getpid())), RenewTime: new(metav1.NowMicro()),
		LeaseDurationSeconds: new(int32(presenceLife.Seconds())),
	}
	var all coordinationv1.LeaseList
	if err := p.client.List(ctx, &all, client.InNamespace(Namespace)); err != nil {
		p.failed(ctx, err)
	}
	for i := range all.Items {
		if old := &all.Items[i]; strings.HasPrefix(old.Name, presencePrefix) && !holds(old) {
			p.leave(ctx, old.Name)
		}
	}
	// The Create may take presenceTimeout after ctx ends: with a canceled Create, presence.leave
	// could run before the API server creates the Lease.
	creation, cancel := context.WithTimeout(context.WithoutCancel(ctx), presenceTimeout)
	defer cancel()
	if err := p.client.Create(creation, lease); err != nil {
		p.failed(ctx, err)
		return nil
	}
	return lease
}

// renew writes the current time into spec.renewTime of the Lease.
func (p presence) renew(ctx context.Context, lease *coordinationv1.Lease) *coordinationv1.Lease {
	if lease == nil {
		return p.announce(ctx)
	}
	renewed := lease.DeepCopy()
	renewed.Spec.RenewTime = new(metav1.NowMicro())
	switch err := p.client.Update(ctx, renewed); {
	case apierrors.IsNotFound(err):
		return p.announce(ctx)
	case err != nil:
		p.failed(ctx, err)
		return lease
	}
	return renewed
}

// leave deletes the Lease of the given name.
func (p presence) leave(ctx context.Context, name string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	ctx, cancel := context.WithTimeout(ctx, presenceTimeout)
	defer cancel()
	if err := p.client.Delete(ctx, lease); client.IgnoreNotFound(err) != nil {
		p.failed(ctx, err)
	}
}

// failed logs an error that does not stop the operator.
func (p presence) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.log.Info("kinship uninstall may not know that this operator runs", "reason", err.Error())
	}
}

// holds reports whether the holder of a Lease has renewed the Lease within
// spec.leaseDurationSeconds.
func holds(lease *coordinationv1.Lease) bool { return holdsAt(lease, time.Now()) }

func holdsAt(lease *coordinationv1.Lease, now time.Time) bool {
	spec := lease.Spec
	if spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	life := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	return *spec.HolderIdentity != "" && now.Sub(spec.RenewTime.Time) < life
}

// running returns the holders of the Leases kinship-running-* and of the leader's Lease, which
// operators of earlier releases hold too.
func running(ctx context.Context, c client.Reader) ([]string, error) {
	var all coordinationv1.LeaseList
	if err := c.List(ctx, &all, client.InNamespace(Namespace)); err != nil {
		return nil, fmt.Errorf("list leases in namespace %s: %w", Namespace, err)
	}
	var holders []string
	for i := range all.Items {
		lease := &all.Items[i]
		ours := lease.Name == leaseName || strings.HasPrefix(lease.Name, presencePrefix)
		if ours && holds(lease) {
			holders = append(holders, fmt.Sprintf("%s (Lease %s, renewed %s ago)", *lease.Spec.HolderIdentity, lease.Name,
				time.Since(lease.Spec.RenewTime.Time).Round(time.Second)))
		}
	}
	return holders, nil
}
