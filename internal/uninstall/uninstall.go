package uninstall

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
)

// Uninstall removes every object that [install.Install] applied, and every pack.Trace on other objects.
// Uninstall keeps the objects that other installed packs need.
//
// Uninstall reads everything before the first change. Uninstall refuses while an operator runs,
// which would restore removed objects, and while objects of the packs exist. The order is:
//
//  1. traces, as [options.Operators], while the guards still exist. After a failure here, Uninstall
//     keeps the guards;
//  2. guards: webhook configurations and policies;
//  3. rights and CustomResourceDefinitions. The guards are deleted earlier, because no operator
//     answers the webhooks any more: other controllers could not remove their finalizers from
//     the objects of a CustomResourceDefinition.
func Uninstall(ctx context.Context, o options.Options, u Options) error {
	o, err := o.WithDefaults()
	if err != nil {
		return err
	}
	c, err := options.NewClient(o, o.Config)
	if err != nil {
		return err
	}
	p, err := newPlan(ctx, o, u, c)
	if err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	if u.DryRun {
		p.tellDry(u)
		return nil
	}
	if err := p.refusal(u); err != nil {
		return err
	}
	if err := p.confirm(u); err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	s, err := newTraceRemover(ctx, o)
	if err != nil {
		return fmt.Errorf("nothing was removed: %w", err)
	}
	guarded := s.removeAll(ctx, p.traces.Found)
	if guarded != nil && !errors.Is(guarded, errGuarded) {
		return fmt.Errorf("the guards were left in place: %w", guarded)
	}
	if err := install.DeleteAll(ctx, c, p.guards, u.Say); err != nil {
		return err
	}
	if guarded != nil { // A webhook of an earlier release asks about the operator's writes too.
		s.patient = true
		if err := s.removeAll(ctx, p.traces.Found); err != nil {
			return err
		}
	}
	for _, line := range sum(p.traces.Found) {
		u.Say("took %s", line)
	}
	if err := install.DeleteAll(ctx, c, p.rest, u.Say); err != nil {
		return err
	}
	return forgetGuards(ctx, o, c)
}

// forgetGuards deletes the Lease with the record of each pack: without the record, the next CompareRecords
// takes no guard that [Uninstall] has removed for a change.
func forgetGuards(ctx context.Context, o options.Options, c client.Client) error {
	chosen, err := options.ChosenPacks(o)
	if err != nil {
		return err
	}
	for _, p := range chosen {
		if err := c.Delete(ctx, guards.NewRecorder(c, p.Name).Lease()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the record of guards of pack %s: %w", p.Name, err)
		}
	}
	return nil
}
