package presence

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

	"github.com/kinship-dev/kinship/internal/options"
)

const (
	// Prefix begins the name of the Lease of each running operator, such as kinship-running-x7k2p.
	Prefix = "kinship-running-"
	// renewEvery is how often an operator renews its Lease.
	renewEvery = 30 * time.Second
	// Life is how long a killed operator counts as running.
	Life = 90 * time.Second
	// Timeout bounds a request of an operator that ends.
	Timeout = 2 * time.Second
)

// Announcement renews the operator's Lease while the operator runs.
type Announcement struct {
	client client.Client
	log    logr.Logger
	name   string // of the Lease
	// settings is the value of SettingsAnnotation.
	settings string
}

// NewAnnouncement returns the Announcement of an operator with some options.
func NewAnnouncement(o options.Options, c client.Client) (Announcement, error) {
	settings, err := settingsOf(o)
	if err != nil {
		return Announcement{}, err
	}
	text, err := settings.text()
	if err != nil {
		return Announcement{}, err
	}
	return Announcement{
		client: c, log: o.Log.WithName("presence"), name: Prefix + rand.String(5), settings: text,
	}, nil
}

// Start implements manager.Runnable.
func (p Announcement) Start(ctx context.Context) error {
	lease := p.announce(ctx)
	for tick := time.NewTicker(renewEvery); ; {
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

// NeedLeaderElection makes the manager.Manager run Announcement in every replica.
func (p Announcement) NeedLeaderElection() bool { return false }

// announce creates the operator's Lease, and deletes the Leases of killed operators.
func (p Announcement) announce(ctx context.Context) *coordinationv1.Lease {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: options.Namespace, Name: p.name, Annotations: map[string]string{SettingsAnnotation: p.settings},
	}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: new(fmt.Sprintf("%s_%d", host, os.Getpid())), RenewTime: new(metav1.NowMicro()),
		LeaseDurationSeconds: new(int32(Life.Seconds())),
	}
	var all coordinationv1.LeaseList
	if err := p.client.List(ctx, &all, client.InNamespace(options.Namespace)); err != nil {
		p.failed(ctx, err)
	}
	for i := range all.Items {
		if old := &all.Items[i]; strings.HasPrefix(old.Name, Prefix) && !holds(old) {
			p.leave(ctx, old.Name)
		}
	}
	// The Create may take Timeout after ctx ends: with a canceled Create, presence.leave
	// could run before the API server creates the Lease.
	creation, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
	defer cancel()
	if err := p.client.Create(creation, lease); err != nil {
		p.failed(ctx, err)
		return nil
	}
	return lease
}

// renew writes the current time into spec.renewTime of the Lease.
func (p Announcement) renew(ctx context.Context, lease *coordinationv1.Lease) *coordinationv1.Lease {
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
func (p Announcement) leave(ctx context.Context, name string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: name}}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	if err := p.client.Delete(ctx, lease); client.IgnoreNotFound(err) != nil {
		p.failed(ctx, err)
	}
}

// failed logs an error that does not stop the operator.
func (p Announcement) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		p.log.Info("kinship uninstall may not know that this operator runs", "reason", err.Error())
	}
}

// holds is [HoldsAt] now.
func holds(lease *coordinationv1.Lease) bool { return HoldsAt(lease, time.Now()) }

// HoldsAt reports whether the holder of a Lease has renewed the Lease within spec.leaseDurationSeconds before a moment.
func HoldsAt(lease *coordinationv1.Lease, now time.Time) bool {
	spec := lease.Spec
	if spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	life := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	return *spec.HolderIdentity != "" && now.Sub(spec.RenewTime.Time) < life
}

// Holders returns the holders of the Leases kinship-running-* and of the leader's Lease, which
// operators of earlier releases hold too.
func Holders(ctx context.Context, c client.Reader) ([]string, error) {
	var all coordinationv1.LeaseList
	if err := c.List(ctx, &all, client.InNamespace(options.Namespace)); err != nil {
		return nil, fmt.Errorf("list leases in namespace %s: %w", options.Namespace, err)
	}
	var holders []string
	for i := range all.Items {
		lease := &all.Items[i]
		ours := lease.Name == options.LeaseName || strings.HasPrefix(lease.Name, Prefix)
		if ours && holds(lease) {
			holders = append(holders, fmt.Sprintf("%s (Lease %s, renewed %s ago)", *lease.Spec.HolderIdentity, lease.Name,
				time.Since(lease.Spec.RenewTime.Time).Round(time.Second)))
		}
	}
	return holders, nil
}
