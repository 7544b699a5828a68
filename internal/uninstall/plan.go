package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Options are the options of [Uninstall].
type Options struct {
	// ForceLive lets [Uninstall] continue although an operator runs.
	ForceLive bool
	// WithObjects lets [Uninstall] continue although objects of the packs exist, and deletes the
	// objects.
	WithObjects bool
	// DryRun makes [Uninstall] report the plan and change nothing.
	DryRun bool
	// Timeout bounds a List request. Zero means 10 seconds.
	Timeout time.Duration
	// Confirm, if set, is called after [Uninstall] has reported the plan. If Confirm returns an
	// error, [Uninstall] ends before the first change.
	Confirm func() error
	// Say reports progress to the user.
	Say func(format string, args ...any)
}

// count is the number of objects of a GroupResource.
type count struct {
	resource schema.GroupResource
	number   int64
}

// plan is everything that [Uninstall] reads, and therefore everything that [Uninstall] does.
type plan struct {
	// live are the running operators, by their Leases.
	live []string
	// beside are the packs that [Uninstall] does not remove.
	beside []string
	// lost are the objects that the API server deletes with their CustomResourceDefinition.
	lost   []count
	traces pack.Traces
	// guards are the webhook configurations and policies, which refuse or change requests; rest are
	// all other objects.
	guards, rest []*unstructured.Unstructured
}

// newPlan reads everything that [Uninstall] needs. [Uninstall] writes nothing before newPlan
// returns, so an error of newPlan leaves the cluster as it was.
func newPlan(ctx context.Context, o options.Options, u Options, c client.Client) (plan, error) {
	var p plan
	var err error
	if p.live, err = presence.Holders(ctx, c); err != nil {
		return p, err
	}
	objects, err := install.EveryObject(o)
	if err != nil {
		return p, err
	}
	if p.beside, err = install.PacksBeside(ctx, o, c); err != nil {
		return p, err
	}
	if len(p.beside) > 0 {
		needed, err := install.EveryObject(o.With(p.beside))
		if err != nil {
			return p, err
		}
		objects = install.Without(objects, needed)
	}
	guards, rest := guards.Split(objects)
	if p.guards, err = install.Installed(ctx, c, guards); err != nil {
		return p, err
	}
	if p.rest, err = install.Installed(ctx, c, rest); err != nil {
		return p, err
	}
	stale, err := install.StaleRoles(ctx, o, c, objects)
	if err != nil {
		return p, err
	}
	if len(p.beside) > 0 { // Packs read with the rights of the process.
		stale = slices.DeleteFunc(stale, func(u *unstructured.Unstructured) bool { return u.GetName() == options.Account })
	}
	p.rest = append(p.rest, stale...)
	slices.Reverse(p.rest) // Rights and account before definitions.
	enabled, err := enabledLater(ctx, o, c)
	if err != nil {
		return p, err
	}
	p.rest = append(p.rest, enabled...)
	reading, err := newReading(ctx, o, u)
	if err != nil {
		return p, err
	}
	defer reading.Watcher.Close()
	if p.lost, err = lost(ctx, reading, p.rest); err != nil {
		return p, err
	}
	return p, p.find(ctx, o, reading)
}

// enabledLater returns the objects that commands such as `kinship azure enable` have installed for
// the chosen packs.
func enabledLater(
	ctx context.Context, o options.Options, c client.Client,
) (all []*unstructured.Unstructured, err error) {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return nil, err
	}
	for _, one := range chosen {
		if one.Enabled == nil {
			continue
		}
		found, err := one.Enabled(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("find what was enabled of pack %s: %w", one.Name, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// newReading returns the clients for pack.Traces.
func newReading(ctx context.Context, o options.Options, u Options) (pack.Reading, error) {
	r := pack.Reading{Timeout: u.Timeout}
	if r.Timeout == 0 {
		r.Timeout = 10 * time.Second
	}
	var err error
	if r.Metadata, err = metadata.NewForConfig(o.Config); err != nil {
		return r, fmt.Errorf("make metadata client: %w", err)
	}
	if r.Watcher, err = relation.NewWatcher(o.Config, o.Log); err != nil {
		return r, err
	}
	if err := r.Watcher.Refresh(ctx); err != nil {
		r.Watcher.Close()
		return r, err
	}
	return r, nil
}

// find adds pack.Traces of all chosen packs to plan.traces.
func (p *plan) find(ctx context.Context, o options.Options, r pack.Reading) error {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return err
	}
	for _, one := range chosen {
		traces, err := one.Traces(ctx, r)
		if err != nil {
			return fmt.Errorf("find the traces of pack %s: %w", one.Name, err)
		}
		p.traces.Found = append(p.traces.Found, traces.Found...)
		p.traces.Unread = append(p.traces.Unread, traces.Unread...)
	}
	return nil
}

// lost counts the objects of each CustomResourceDefinition among objects.
func lost(ctx context.Context, r pack.Reading, objects []*unstructured.Unstructured) ([]count, error) {
	var all []count
	for _, obj := range objects {
		if obj.GetKind() != relation.DefinitionKind.Kind {
			continue
		}
		plural, group, _ := strings.Cut(obj.GetName(), ".")
		resource := schema.GroupResource{Group: group, Resource: plural}
		version, ok := install.ServedVersion(obj)
		if !ok {
			continue
		}
		list, err := r.List(ctx, resource.WithVersion(version), metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			all = append(all, count{resource, int64(len(list))})
		}
	}
	return all, nil
}

// refusal returns why [Uninstall] must not continue, or nil.
func (p *plan) refusal(u Options) error {
	var reasons []error
	if len(p.live) > 0 && !u.ForceLive {
		reasons = append(reasons, fmt.Errorf("an operator is running: %s; stop it first (one that was killed counts as "+
			"running for %s), or go on with --force-live", strings.Join(p.live, ", "), presence.Life))
	}
	if len(p.lost) > 0 && !u.WithObjects {
		names := make([]string, 0, len(p.lost))
		for _, c := range p.lost {
			names = append(names, c.String())
		}
		reasons = append(reasons, fmt.Errorf("objects exist: %s; delete them first while the operator runs, so that what "+
			"was made for them is deleted too, or go on with --with-objects, which deletes them and leaves what was made "+
			"for them as it is", strings.Join(names, ", ")))
	}
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was removed: %w", errors.Join(reasons...))
}

func (c count) String() string { return fmt.Sprintf("%d %s", c.number, c.resource) }

// tell reports plan.beside and plan.traces.Unread.
func (p *plan) tell(say func(string, ...any)) {
	if len(p.beside) > 0 {
		say("leaving what the packs need that stay: %s", strings.Join(p.beside, ", "))
	}
	for _, u := range p.traces.Unread {
		say("skipping %s, which can't be read: %v; %s may be left there", u.Resource.GroupResource(), u.Reason, u.Left)
	}
}

// tellDry reports the plan for Options.DryRun, and the refusal that [Uninstall] would
// return.
func (p *plan) tellDry(u Options) {
	if err := p.refusal(u); err != nil {
		u.Say("would be refused: %v", err)
	}
	p.tellAll(u.Say)
}

// confirm reports the plan, and calls Options.Confirm if set.
func (p *plan) confirm(u Options) error {
	if u.Confirm == nil {
		p.tell(u.Say)
		return nil
	}
	p.tellAll(u.Say)
	return u.Confirm()
}

// tellAll reports everything that [Uninstall] would remove.
func (p *plan) tellAll(say func(string, ...any)) {
	p.tell(say)
	for _, s := range sum(p.traces.Found) {
		say("would take %s", s)
	}
	for _, obj := range slices.Concat(p.guards, p.rest) {
		say("would delete %s %s", obj.GetKind(), obj.GetName())
	}
	for _, c := range p.lost {
		say("would delete %s with their definition", c)
	}
}

// sum returns a line for each sort of pack.Trace, with the number of traces.
func sum(traces []pack.Trace) []string {
	type sort struct {
		what, note string
		resource   schema.GroupResource
	}
	var sorts []sort
	number := map[sort]int{}
	for _, t := range traces {
		s := sort{t.What(), t.Note, t.Resource.GroupResource()}
		if number[s] == 0 {
			sorts = append(sorts, s)
		}
		number[s]++
	}
	lines := make([]string, 0, len(sorts))
	for _, s := range sorts {
		line := fmt.Sprintf("%s off %d %s", s.what, number[s], s.resource)
		if s.note != "" {
			line += "; " + s.note
		}
		lines = append(lines, line)
	}
	return lines
}
