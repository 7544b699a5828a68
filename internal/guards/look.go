package guards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

// guardRetry is the pause before look runs again after an error.
const guardRetry = 2 * time.Second

// guardSettles is how long the API server may take to apply a restored guard.
const guardSettles = time.Second

// doubt calls pack.Doubt, which judges the objects written since Monitor.since again, and then
// clears record.Since.
func (g *Monitor) doubt(ctx context.Context) error {
	g.mu.Lock()
	since := g.since
	g.mu.Unlock()
	if since == "" {
		return nil
	}
	if g.pack.Doubt != nil {
		if err := g.pack.Doubt(ctx, g.live, since); err != nil {
			return fmt.Errorf("judge again what was written since a guard was missing: %w", err)
		}
	}
	err := g.recorder.change(ctx, func(r *record) {
		if r.Since == since {
			r.Since = ""
		}
	})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since == since {
		g.since = ""
	}
	return nil
}

// run calls look at the start, at each change of a guard, and after the pause that look returns.
func (g *Monitor) run(ctx context.Context) error {
	kinds := make([]schema.GroupKind, 0, len(g.wanted))
	for _, id := range SortedIDs(g.wanted) {
		kinds = append(kinds, id.GroupKind())
	}
	g.watcher.Use(object.ID{Kind: "Guards", Name: g.pack.Name}, kinds...)
	for {
		var again <-chan time.Time
		pause, err := g.look(ctx)
		if err != nil && ctx.Err() == nil {
			if !sameError(err.Error(), g.failure) {
				g.log.Error(err, "Guards can't be read or restored; the operator tries again")
			}
			pause = guardRetry
		}
		g.failure = textOf(err)
		if pause == 0 || err != nil {
			g.looked.Store(true)
		}
		if pause > 0 {
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			g.leave(context.WithoutCancel(ctx))
			return nil
		case <-g.changed:
		case <-again:
		}
	}
}

// textOf returns err.Error(), or "" for nil.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// leave calls recorder.touch at the end of the operator, if all guards are in force.
func (g *Monitor) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, presence.Timeout)
	defer cancel()
	if len(*g.faults.Load()) > 0 || !g.begun {
		return
	}
	if err := g.recorder.touch(ctx); err != nil {
		g.log.Info("What is written until the next operator starts may be judged again", "reason", err.Error())
	}
}

// look reads the guards, restores missing and altered guards with --install, and closes
// reconcile.Gate while a guard is missing or altered. look returns the pause until the next look; 0
// means until a guard changes.
func (g *Monitor) look(ctx context.Context) (time.Duration, error) {
	g.closeIfNoticed() // Before the reads, which may fail.
	faults, err := g.read(ctx)
	if err != nil {
		if ctx.Err() == nil {
			g.tellUnread(err)
		}
		return 0, err
	}
	g.closeIfNoticed() // Also if another process has restored the guard meanwhile.
	held := g.tell(faults)
	if err := g.recordGuards(ctx); err != nil {
		return 0, err
	}
	if g.install != nil && len(faults) > 0 {
		if held, err = g.restore(ctx, faults, held); err != nil {
			return 0, err
		}
	}
	if held {
		return 0, nil
	}
	return g.reopen(ctx)
}

// restore restores guards, and reports whether the gate stays closed. Guards that the last installation left out stay
// faults (see [OnlyInstalled]).
func (g *Monitor) restore(ctx context.Context, faults []Fault, held bool) (bool, error) {
	var failed []error
	var left []Fault
	for _, f := range faults {
		err := g.install(ctx, g.wanted[f.ID])
		if superseded := (*guard.Fault)(nil); errors.As(err, &superseded) {
			if len(left) == 0 {
				g.log.V(1).Info("Guards are not restored", "reason", superseded.Message)
			}
			left = append(left, f)
		} else if err != nil {
			failed = append(failed, fmt.Errorf("restore %s: %w", f.ID, err))
		}
	}
	if err := errors.Join(failed...); err != nil {
		return held, err
	}
	if len(left) == len(faults) {
		return held, nil
	}
	g.log.Info("Restored guards", "guards", names(faults))
	return g.tell(left), nil
}

// read reads the record of the last operator and the guards, and returns the faults. The gate is closed
// after a guard was changed that can't be read: the guard may be altered.
func (g *Monitor) read(ctx context.Context) ([]Fault, error) {
	if err := g.begin(ctx); err != nil {
		return nil, err
	}
	pending := g.takePending()
	faults, err := g.assess(ctx, pending)
	if err != nil {
		g.putBack(pending)
		if len(pending) > 0 {
			g.pause()
		}
		return nil, err
	}
	return faults, nil
}

// pause closes the gate until reopen.
func (g *Monitor) pause() {
	g.gate.Close()
	g.paused = true
}

// closeIfNoticed closes the gate if a guard was deleted since the last call.
func (g *Monitor) closeIfNoticed() {
	if g.takeNoticed() {
		g.pause()
	}
}

// reopen opens the gate after the objects that were written without the guards have been judged
// again. The API server applies a guard a moment after its creation, so a closed gate stays
// closed for a second.
func (g *Monitor) reopen(ctx context.Context) (time.Duration, error) {
	if g.paused {
		g.paused, g.settled = false, time.Now().Add(guardSettles)
	}
	if pause := time.Until(g.settled); pause > 0 {
		return pause, nil
	}
	if err := g.doubt(ctx); err != nil {
		g.unjudged.Store(&err)
		return 0, err
	}
	g.unjudged.Store(nil)
	g.gate.Open()
	return 0, nil
}

// assess reads the guards and returns the faults. The parameter pending has the changes that the
// relation.Watcher has reported: observe records the resourceVersion since which a guard was
// altered.
func (g *Monitor) assess(ctx context.Context, pending map[object.ID]string) ([]Fault, error) {
	found, err := Compare(ctx, g.reader, g.recorder, g.wanted)
	if err != nil {
		return nil, err
	}
	faults, live, unseen := found.Faults, found.live, found.Unseen
	if len(faults) > 0 && g.install == nil {
		others, err := Compare(ctx, g.reader, g.recorder, g.other)
		if err != nil {
			return nil, err
		}
		unseen = append(unseen, others.Unseen...)
		if len(others.Faults) == 0 {
			faults, live = nil, others.live
		}
	}
	g.unseen = map[string]string{}
	for _, id := range unseen {
		g.unseen[keyOf(id)] = "can't be seen: run once with --install"
	}
	if g.calls != nil {
		g.calls.follow(live)
	}
	weak := map[object.ID]bool{}
	for _, f := range faults {
		weak[f.ID] = true
	}
	for id, obj := range live {
		if slices.Contains(g.pack.Enforced, id.Name) {
			continue
		}
		g.observe(id, obj, weak[id], pending[id])
	}
	return faults, nil
}

// observe updates Monitor.known with a guard that is in force, or calls Monitor.note for a guard that
// is altered or was altered since the last look.
func (g *Monitor) observe(id object.ID, live client.Object, weak bool, changed string) {
	key := keyOf(id)
	before, seen := g.known[key]
	if weak {
		delete(g.known, key) // Its restoration is no news.
		g.note(cmp.Or(changed, live.GetResourceVersion()))
		return
	}
	now := knownGuard{UID: live.GetUID(), Generation: live.GetGeneration(), Force: pack.Force(live, g.template(id))}
	// Only install.Install has a reason to change a policy, and then pack.Force changes too. The same
	// Force with another generation means that a user altered the ValidatingAdmissionPolicy and
	// changed it back.
	toggled := WebhooksOf(live) == nil && seen && now.UID == before.UID && now.Force == before.Force &&
		now.Generation != before.Generation
	if toggled && changed != "" {
		g.note(changed)
	}
	g.known[key] = now
}

func (g *Monitor) template(id object.ID) client.Object {
	if t := g.wanted[id]; t != nil {
		return t
	}
	return g.other[id]
}

// tell stores the faults, reports the faults to protection.setLost, and closes reconcile.Gate. A
// fault of a guard in pack.Enforced leaves the Gate open: the pack's reconcilers must go on to
// report NotEnforced to users. tell returns whether it closed the Gate.
func (g *Monitor) tell(faults []Fault) (held bool) {
	g.faults.Store(&faults)
	held = slices.ContainsFunc(faults, func(f Fault) bool { return !slices.Contains(g.pack.Enforced, f.ID.Name) })
	if held {
		g.pause()
	}
	g.protection.setLost(withFaults(g.unseen, faults), held)
	return held
}

// tellUnread reports that the guards could not be read. The faults of the last look count until the next
// look.
func (g *Monitor) tellUnread(err error) {
	unread := map[string]string{}
	for id := range g.wanted {
		unread[keyOf(id)] = "can't be read: " + err.Error()
	}
	g.protection.setLost(withFaults(unread, *g.faults.Load()), g.paused)
}

// withFaults returns the reasons why guards count as lost, with the reasons of faults added.
func withFaults(reasons map[string]string, faults []Fault) map[string]string {
	lost := maps.Clone(reasons)
	for _, f := range faults {
		lost[keyOf(f.ID)] = string(f.State) + ": install it again, or run with --install"
	}
	return lost
}

// begin reads the record of the previous operator once. If record.Since is set, Monitor.note keeps
// that resourceVersion for doubt.
func (g *Monitor) begin(ctx context.Context) error {
	if g.begun {
		return nil
	}
	left, _, err := g.recorder.read(ctx)
	if err != nil {
		return err
	}
	if left.Since != "" {
		g.note(left.Since)
	}
	g.begun = true
	return nil
}

// recordGuards writes Monitor.known and Monitor.since into the record if either has changed.
func (g *Monitor) recordGuards(ctx context.Context) error {
	g.mu.Lock()
	since := g.since
	g.mu.Unlock()
	if g.kept != nil && since == g.keptSince && maps.Equal(g.kept, g.known) {
		return nil
	}
	err := g.recorder.change(ctx, func(r *record) {
		r.note(since)
		r.Guards = g.known
	})
	if err != nil {
		return err
	}
	g.kept, g.keptSince = maps.Clone(g.known), since
	return nil
}
