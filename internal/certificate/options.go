package certificate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	defaultCAValidity       = 10 * 365 * 24 * time.Hour
	defaultServingValidity  = 90 * 24 * time.Hour
	defaultPropagationDelay = 30 * time.Second
)

// Options say what a [Manager] keeps, and where. Zero durations take the
// defaults named below.
type Options struct {
	// Client MUST read from the API server and not from a cache: optimistic
	// concurrency needs the present resourceVersion, and a cache would watch
	// every Secret. [client.NewWithWatch] makes such a client.
	Client client.WithWatch
	// Secret is where the certificates live. It is created if absent, and may be
	// created empty beforehand.
	Secret types.NamespacedName
	// DNSNames and IPs are what the API server calls the webhooks by. At least
	// one is needed.
	DNSNames []string
	IPs      []net.IP
	// OnBundle writes the PEM bundle into the caller's webhook configurations.
	// It is called by [Manager.Start] only: once at the start and whenever the
	// bundle has changed, in every replica, so it SHOULD write nothing when
	// nothing changes. Until it succeeds it is tried again and a rotation does
	// not go on. The caller SHOULD also watch its webhook configurations and write
	// the bundle of [Manager.Current] back when somebody else changes them. It may
	// be nil if the caller spreads the bundle by other means that are quicker than
	// PropagationDelay.
	OnBundle func(ctx context.Context, caPEM []byte) error

	// CAValidity is 10 years by default, and at least twice ServingValidity +
	// RenewBefore.
	CAValidity time.Duration
	// ServingValidity is 90 days by default.
	ServingValidity time.Duration
	// RenewBefore is how long before its end a serving certificate is replaced:
	// a third of ServingValidity by default. A CA is replaced ServingValidity +
	// RenewBefore before its end, so it always outlives what it signed.
	RenewBefore time.Duration
	// PropagationDelay is how long the API servers may take to notice that a
	// webhook configuration has changed: 30 seconds by default.
	PropagationDelay time.Duration
	// RetireAfter is how long after the switch to a new CA the old one is trusted
	// at most. By default it is trusted until the last certificate it signed has
	// expired.
	RetireAfter time.Duration

	// Clock is the real clock by default.
	Clock clock.Clock
}

// withDefaults returns a complete copy, or what is wrong.
func (o Options) withDefaults() (Options, error) {
	o.CAValidity = cmp.Or(o.CAValidity, defaultCAValidity)
	o.ServingValidity = cmp.Or(o.ServingValidity, defaultServingValidity)
	o.RenewBefore = cmp.Or(o.RenewBefore, o.ServingValidity/3)
	o.PropagationDelay = cmp.Or(o.PropagationDelay, defaultPropagationDelay)
	o.DNSNames = slices.Clone(o.DNSNames)
	o.IPs = slices.Clone(o.IPs)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.OnBundle == nil {
		o.OnBundle = func(context.Context, []byte) error { return nil }
	}
	return o, o.problems()
}

func (o Options) problems() error {
	var errs []error
	if o.Client == nil {
		errs = append(errs, errors.New("no client is given"))
	}
	if o.Secret.Name == "" || o.Secret.Namespace == "" {
		errs = append(errs, fmt.Errorf("the Secret needs a namespace and a name, got %q", o.Secret))
	}
	if len(o.DNSNames)+len(o.IPs) == 0 {
		errs = append(errs, errors.New("no DNS name and no IP address is given to issue a certificate for"))
	}
	return errors.Join(append(errs, o.policy().problems())...)
}

func (o Options) policy() policy {
	return policy{
		names:            subject{dns: o.DNSNames, ips: o.IPs},
		caValidity:       o.CAValidity,
		servingValidity:  o.ServingValidity,
		renewBefore:      o.RenewBefore,
		propagationDelay: o.PropagationDelay,
		retireAfter:      o.RetireAfter,
	}
}

// policy is the part of the options that decisions depend on.
type policy struct {
	names                       subject
	caValidity, servingValidity time.Duration
	renewBefore                 time.Duration
	propagationDelay            time.Duration
	retireAfter                 time.Duration
}

// problems finds durations under which something would be due again as soon as
// it is done, or CAs would come faster than old ones can retire.
func (p policy) problems() error {
	var errs []error
	durations := []time.Duration{p.caValidity, p.servingValidity, p.renewBefore, p.propagationDelay, p.retireAfter}
	if slices.Min(durations) < 0 {
		errs = append(errs, errors.New("a duration is negative"))
	}
	if p.renewBefore >= p.servingValidity {
		errs = append(errs, fmt.Errorf("RenewBefore %v is not below ServingValidity %v", p.renewBefore, p.servingValidity))
	}
	if least := 2 * p.caRenewBefore(); p.caValidity < least {
		errs = append(errs, fmt.Errorf("CAValidity %v is below twice ServingValidity + RenewBefore, %v", p.caValidity, least))
	}
	return errors.Join(errs...)
}

// caRenewBefore is how long before its end a CA is replaced.
func (p policy) caRenewBefore() time.Duration { return p.servingValidity + p.renewBefore }
