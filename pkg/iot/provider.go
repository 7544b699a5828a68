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

// DefaultDeadline bounds an operation if Provider.Deadline is zero.
const DefaultDeadline = 30 * time.Second

// Bounds of the random pause between two attempts. firstPause is long, so that 50 programs that
// update the same IotConnector cause few Conflicts. The bound shrinks to lastPause with each
// attempt, so that a program that lost often is not starved.
const (
	firstPause = 2 * time.Second
	lastPause  = 500 * time.Millisecond
)

// Spec is the desired state of an entry in spec.deployments.
type Spec struct {
	// Name of the Deployment, the internal service name of the resource.
	Name string
	// Containers of the Pod. A container without Container.Type gets Provider.Type.
	Containers []iotv1alpha1.Container
	// Replicas is the number of Pods. Nil leaves the number to other clients, such as an
	// autoscaler.
	Replicas *int32
	// Resources of each container without Container.Resources.
	Resources *corev1.ResourceRequirements
}

// Provider provisions deployments of one type. A Provider is safe for concurrent use.
type Provider struct {
	// Client reads and writes IotConnectors. Client MUST NOT read from a cache.
	Client client.Client
	// Type of the deployments, such as [TypeFhirConverter].
	Type string
	// Names holds the internal service names by type, for an IotConnector of version 0 that is
	// upgraded. A type that is not in Names gets the name that NameOf derives.
	Names map[string]string
	// Deadline bounds an operation. Zero means DefaultDeadline.
	Deadline time.Duration
}

// Provision adds the deployment of a Spec to spec.deployments of an IotConnector, or replaces the
// deployment of that name. An IotConnector of version 0 is upgraded first. The IotConnector must
// exist (Provider.Create), otherwise the error is an [ErrNotFound]. A deployment that is there
// already causes no write.
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

// Deprovision removes a deployment from spec.deployments of an IotConnector. The error is an
// [ErrNotFound] if the IotConnector or the deployment does not exist.
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
			// Another program has provisioned the name again after the first removal.
			return missing(c, name)
		}
		removed = now
		c.Spec.Deployments = slices.Delete(c.Spec.Deployments, i, i+1)
		return nil
	})
}

// Create creates an IotConnector with empty spec.deployments, as the first step of provisioning.
// An existing IotConnector is left as before.
func (p Provider) Create(ctx context.Context, c *iotv1alpha1.IotConnector) error {
	version := iotv1alpha1.Version1
	c.Spec.Version = &version
	return p.retry(ctx, c.Name, func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(p.Client.Create(ctx, c.DeepCopy()))
	})
}

// Delete deletes an IotConnector, as the last step of deprovisioning. The error is an [ErrInvalid]
// if the IotConnector has more than one deployment or container, or a deployment or container of
// another type than Provider.Type.
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

// lastOf returns an error that names the first deployment or container that prevents
// Provider.Delete.
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

// RollbackConnector restores the spec that an IotConnector had before its upgrade.
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

// find returns the index of a deployment in spec.deployments. The error is an [ErrInvalid] if the
// deployment has another type than Provider.Type.
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

// update reads, changes and updates an IotConnector, and repeats all three after a Conflict.
// change is called with unsure=true if an earlier Update may have succeeded without an answer.
func (p Provider) update(
	ctx context.Context, connector client.ObjectKey, change func(c *iotv1alpha1.IotConnector, unsure bool) error,
) error {
	// After a timeout the API server may have accepted the Update.
	unsure := false
	return p.retry(ctx, connector.Name, func(ctx context.Context) error {
		c := &iotv1alpha1.IotConnector{}
		if err := p.Client.Get(ctx, connector, c); err != nil {
			return err
		}
		before := HashSpec(&c.Spec)
		err := change(c, unsure)
		if unsure && errors.Is(err, ErrNotFound) {
			return nil // The earlier Update has removed the deployment.
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

// retry calls try until try succeeds, fails permanently, or Provider.Deadline has passed.
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
		if last == nil || ctx.Err() == nil { // The error before the deadline says more than DeadlineExceeded.
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

// passing reports whether a request may succeed if repeated: after a Conflict, or while the API
// server is unavailable. Errors of an interrupted connection have no common type, so each error
// that is neither an apierrors.APIStatus nor an error of this package counts as passing.
func passing(err error) bool {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		return apierrors.IsConflict(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
			apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
	}
	return !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNotFound) &&
		!meta.IsNoMatchError(err) && !runtime.IsNotRegisteredError(err)
}

// typed wraps a NotFound as ErrNotFound, and Invalid or BadRequest as InvalidError.
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
