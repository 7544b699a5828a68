package iot

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

// DefaultDeadline is how long an operation is tried when its context sets no
// earlier end.
const DefaultDeadline = 30 * time.Second

// Pauses between two attempts. Each is drawn at random, or those who met once would
// meet again. The bound is wide, so that dozens who want the same IotConnector
// don't keep the API server busy with refusals, and shrinks, so that nobody waits
// much longer than the others: a bound that grows starves whoever lost often.
const (
	firstPause = 2 * time.Second
	lastPause  = 500 * time.Millisecond
)

// Spec is the desired state of what is provisioned: one Deployment.
type Spec struct {
	// Name of the Deployment, the internal service name of the resource.
	Name string
	// Containers that share its Pod. Those that have no type get the provider's.
	Containers []iotv1alpha1.Container
	// Replicas, if set, are managed.
	Replicas *int32
	// Resources of those containers that say nothing of their own.
	Resources *corev1.ResourceRequirements
}

// Provider provisions resources of one type. It is safe for concurrent use.
type Provider struct {
	// Client reads and writes IotConnectors. It MUST NOT read from a cache.
	Client client.Client
	// Type of what is provisioned, such as [TypeFhirConverter].
	Type string
	// Names are the internal service names by type, for IotConnectors that are
	// upgraded on the way. Types without one get a name made of the IotConnector's.
	Names map[string]string
	// Deadline bounds an operation. Zero means DefaultDeadline.
	Deadline time.Duration
}

// Provision makes an IotConnector hold the deployment that a spec describes, and
// upgrades it first if it is of version 0. The IotConnector must exist: whoever
// provisions it does that first, else the error is an [ErrNotFound]. To provision
// what is there already changes nothing.
func (p Provider) Provision(ctx context.Context, connector client.ObjectKey, spec Spec) error {
	return p.update(ctx, connector, func(c *iotv1alpha1.IotConnector, _ bool) error {
		if spec.Name == "" || len(spec.Containers) == 0 {
			return &InvalidError{Connector: c.Name, Problem: errors.New("provision: a name and containers are needed")}
		}
		if c.DeletionTimestamp != nil {
			return &InvalidError{Connector: c.Name, Problem: errors.New("provision: it is being deleted")}
		}
		if _, err := Upgrade(c, p.Names); err != nil {
			return err
		}
		want := p.deployment(spec)
		i, err := p.find(c, spec.Name)
		switch {
		case errors.Is(err, ErrNotFound):
			c.Spec.Deployments = append(c.Spec.Deployments, want)
		case err != nil:
			return err
		default:
			c.Spec.Deployments[i] = want
		}
		if err := Validate(c.Name, &c.Spec); err != nil {
			return &InvalidError{Connector: c.Name, Problem: err}
		}
		return nil
	})
}

// Deprovision removes the deployment of a name from an IotConnector, and nothing
// else. It is an [ErrNotFound] when the IotConnector has no such deployment, or
// does not exist.
func (p Provider) Deprovision(ctx context.Context, connector client.ObjectKey, name string) error {
	var removed iotv1alpha1.Deployment
	return p.update(ctx, connector, func(c *iotv1alpha1.IotConnector, unsure bool) error {
		if _, err := Upgrade(c, p.Names); err != nil {
			return err
		}
		i, err := p.find(c, name)
		if err != nil {
			return err
		}
		now := *c.Spec.Deployments[i].DeepCopy()
		if unsure && !equality.Semantic.DeepEqual(now, removed) {
			// Somebody has provisioned it since, whose it is: ours is gone.
			return missing(c, name)
		}
		removed = now
		c.Spec.Deployments = slices.Delete(c.Spec.Deployments, i, i+1)
		return nil
	})
}

// Create makes an IotConnector without any deployment, as the first step of
// provisioning. An existing one is left as it is.
func (p Provider) Create(ctx context.Context, c *iotv1alpha1.IotConnector) error {
	version := iotv1alpha1.Version1
	c.Spec.Version = &version
	return p.retry(ctx, c.Name, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(p.Client.Create(ctx, c.DeepCopy()))
	})
}

// Delete deletes an IotConnector, as the last step of deprovisioning. It is an
// [ErrInvalid] while the IotConnector still has anything but one deployment, or
// container, of the provider's type.
func (p Provider) Delete(ctx context.Context, connector client.ObjectKey) error {
	return p.retry(ctx, connector.Name, func(ctx context.Context) error {
		c := &iotv1alpha1.IotConnector{}
		if err := p.Client.Get(ctx, connector, c); err != nil {
			return err
		}
		if err := p.lastOf(c); err != nil {
			return &InvalidError{Connector: c.Name, Problem: fmt.Errorf("deprovision: %w", err)}
		}
		return p.Client.Delete(ctx, c, client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion})
	})
}

// lastOf returns what else than one of the provider's type a connector has.
func (p Provider) lastOf(c *iotv1alpha1.IotConnector) error {
	own := 0
	goesFirst := func(name, kind string) error {
		if kind == CanonicalType(p.Type) {
			own++
		}
		if kind == CanonicalType(p.Type) && own == 1 {
			return nil
		}
		return fmt.Errorf("it still has %s of type %s, which goes first", name, kind)
	}
	for i := range c.Spec.Deployments {
		d := &c.Spec.Deployments[i]
		if err := goesFirst(NameOf(c.Name, d), TypeOf(d)); err != nil {
			return err
		}
	}
	for i := range c.Spec.Containers {
		container := &c.Spec.Containers[i]
		if err := goesFirst("container "+ContainerName(container), CanonicalType(container.Type)); err != nil {
			return err
		}
	}
	return nil
}

// UpgradeConnector brings an IotConnector to version 1.
func (p Provider) UpgradeConnector(ctx context.Context, connector client.ObjectKey) error {
	return p.update(ctx, connector, func(c *iotv1alpha1.IotConnector, _ bool) error {
		_, err := Upgrade(c, p.Names)
		return err
	})
}

// RollbackConnector gives an IotConnector the spec back that it had before its
// upgrade.
func (p Provider) RollbackConnector(ctx context.Context, connector client.ObjectKey) error {
	return p.update(ctx, connector, func(c *iotv1alpha1.IotConnector, _ bool) error { return Rollback(c) })
}

func (p Provider) deployment(spec Spec) iotv1alpha1.Deployment {
	d := iotv1alpha1.Deployment{
		Name: spec.Name, Type: p.Type, Containers: slices.Clone(spec.Containers),
		Replicas: spec.Replicas, Resources: spec.Resources,
	}
	for i := range d.Containers {
		if d.Containers[i].Type == "" {
			d.Containers[i].Type = p.Type
		}
	}
	return d
}

// find returns the index of a deployment. One of another type is not the
// provider's to change.
func (p Provider) find(c *iotv1alpha1.IotConnector, name string) (int, error) {
	for i := range c.Spec.Deployments {
		d := &c.Spec.Deployments[i]
		if NameOf(c.Name, d) != name {
			continue
		}
		if t := TypeOf(d); t != CanonicalType(p.Type) {
			return 0, &InvalidError{Connector: c.Name, Problem: fmt.Errorf(
				"%s is of type %s, and this provider is for %s", name, t, p.Type)}
		}
		return i, nil
	}
	return 0, missing(c, name)
}

func missing(c *iotv1alpha1.IotConnector, name string) error {
	return fmt.Errorf("deployment %s of IotConnector %s: %w", name, c.Name, ErrNotFound)
}

// update reads an IotConnector, changes it, and writes it, until nobody was faster. The
// change is told when one before it may have been written.
func (p Provider) update(
	ctx context.Context, connector client.ObjectKey, change func(c *iotv1alpha1.IotConnector, unsure bool) error,
) error {
	// A write whose answer was lost may have been done.
	unsure := false
	return p.retry(ctx, connector.Name, func(ctx context.Context) error {
		c := &iotv1alpha1.IotConnector{}
		if err := p.Client.Get(ctx, connector, c); err != nil {
			return err
		}
		before := HashSpec(&c.Spec)
		err := change(c, unsure)
		if unsure && errors.Is(err, ErrNotFound) {
			return nil // It was: what had to be removed was there before.
		}
		if err != nil {
			return err
		}
		if HashSpec(&c.Spec) == before {
			return nil
		}
		err = p.Client.Update(ctx, c) // With the resourceVersion that was read.
		unsure = unsure || (err != nil && passing(err) && !apierrors.IsConflict(err))
		return err
	})
}

// retry tries until it succeeds, fails for good, or the deadline has passed.
func (p Provider) retry(ctx context.Context, connector string, try func(context.Context) error) error {
	deadline := p.Deadline
	if deadline == 0 {
		deadline = DefaultDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var conflict bool
	var last error
	for pause := firstPause; ; pause = max(pause*5/6, lastPause) {
		err := try(ctx)
		if err == nil || !passing(err) {
			return typed(connector, err)
		}
		if last == nil || ctx.Err() == nil { // That the time is up says less than what came before.
			last, conflict = err, apierrors.IsConflict(err)
		}
		timer := time.NewTimer(rand.N(pause))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if conflict {
				return fmt.Errorf("IotConnector %s: %w for %s: %w", connector, ErrConflictExhausted, deadline, last)
			}
			return fmt.Errorf("IotConnector %s: %w: %w", connector, context.Cause(ctx), last)
		}
	}
}

// passing reports whether an error may be gone the next time: somebody was faster,
// or the API server is not there for the moment. An answer that breaks off has no type
// of its own, so whatever is neither an answer nor ours counts as that.
func passing(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
			apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
	}
	return !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNotFound) &&
		!meta.IsNoMatchError(err) && !runtime.IsNotRegisteredError(err)
}

// typed makes errors of the API server those of this package.
func typed(connector string, err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("IotConnector %s: %w: %w", connector, ErrNotFound, err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return &InvalidError{Connector: connector, Problem: err}
	default:
		return err
	}
}
