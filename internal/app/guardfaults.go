package app

import (
	"cmp"
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// guardState says whether a guard is missing or altered.
type guardState string

const (
	missing guardState = "missing"
	altered guardState = "altered"
)

// fault is a guard that is not in force, such as the ValidatingAdmissionPolicy
// kinship-openstack-secrets.
type fault struct {
	id    object.ID
	state guardState
}

// names returns the faults as text, such as "ValidatingAdmissionPolicy kinship-openstack-secrets is
// missing".
func names(faults []fault) []string {
	all := make([]string, 0, len(faults))
	for _, f := range faults {
		all = append(all, keyOf(f.id)+" "+string(f.state))
	}
	return all
}

func countFaults(faults []fault, state guardState) int {
	n := 0
	for _, f := range faults {
		if f.state == state {
			n++
		}
	}
	return n
}

// order returns the IDs of templates, sorted by kind and name.
func order(templates map[object.ID]client.Object) []object.ID {
	return slices.SortedFunc(maps.Keys(templates), func(a, b object.ID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// assess reads the guards and returns the faults. The parameter pending has the changes that the
// relation.Watcher has reported: observe records the resourceVersion since which a guard was
// altered.
func (g *guards) assess(ctx context.Context, pending map[object.ID]string) ([]fault, error) {
	found, err := compareGuards(ctx, g.reader, g.recorder, g.wanted)
	if err != nil {
		return nil, err
	}
	faults, live, unseen := found.faults, found.live, found.unseen
	if len(faults) > 0 && g.install == nil {
		others, err := compareGuards(ctx, g.reader, g.recorder, g.other)
		if err != nil {
			return nil, err
		}
		unseen = append(unseen, others.unseen...)
		if len(others.faults) == 0 {
			faults, live = nil, others.live
		}
	}
	g.unseen = map[string]string{}
	for _, id := range unseen {
		g.unseen[keyOf(id)] = "can't be seen: run once with --install"
	}
	if g.answering != nil {
		g.answering.follow(live)
	}
	weak := map[object.ID]bool{}
	for _, f := range faults {
		weak[f.id] = true
	}
	for id, obj := range live {
		if slices.Contains(g.pack.Enforced, id.Name) {
			continue
		}
		g.observe(id, obj, weak[id], pending[id])
	}
	return faults, nil
}

// observe updates guards.known with a guard that is in force, or calls guards.note for a guard that
// is altered or was altered since the last look.
func (g *guards) observe(id object.ID, live client.Object, weak bool, changed string) {
	key := keyOf(id)
	before, seen := g.known[key]
	if weak {
		delete(g.known, key) // Its restoration is no news.
		g.note(cmp.Or(changed, live.GetResourceVersion()))
		return
	}
	now := knownGuard{UID: live.GetUID(), Generation: live.GetGeneration(), Force: pack.Force(live, g.template(id))}
	// Only [Install] has a reason to change a policy, and then pack.Force changes too. The same
	// Force with another generation means that a user altered the ValidatingAdmissionPolicy and
	// changed it back.
	toggled := webhooksOf(live) == nil && seen && now.UID == before.UID && now.Force == before.Force &&
		now.Generation != before.Generation
	if toggled && changed != "" {
		g.note(changed)
	}
	g.known[key] = now
}

func (g *guards) template(id object.ID) client.Object {
	if t := g.wanted[id]; t != nil {
		return t
	}
	return g.other[id]
}

// comparison says how the guards in the cluster differ from their templates.
type comparison struct {
	faults []fault
	live   map[object.ID]client.Object
	unseen []object.ID // guards that the reader has no right to read
}

// compareGuards reads the guards and compares them with their templates.
func compareGuards(
	ctx context.Context, reader client.Reader, recorder recorder, templates map[object.ID]client.Object,
) (comparison, error) {
	found := comparison{live: map[object.ID]client.Object{}}
	for _, id := range order(templates) {
		live, err := readGuard(ctx, reader, templates[id])
		switch {
		case apierrors.IsForbidden(err):
			// An installation of an earlier release gives no right to get a
			// ValidatingAdmissionPolicy.
			found.unseen = append(found.unseen, id)
			continue
		case err != nil:
			return found, err
		case live == nil:
			found.faults = append(found.faults, fault{id, missing})
			continue
		}
		found.live[id] = live
		if !pack.Altered(live, templates[id]) {
			continue
		}
		// record.Installed has the digest of a guard that another release has installed in this
		// form.
		known, _, err := recorder.read(ctx)
		if err != nil {
			return found, err
		}
		if pack.Force(live, templates[id]) != known.Installed[keyOf(id)] {
			found.faults = append(found.faults, fault{id, altered})
		}
	}
	return found, nil
}

// tell stores the faults, reports the faults to protection.setLost, and closes reconcile.Gate. A
// fault of a guard in pack.Enforced leaves the Gate open: the pack's reconcilers must go on to
// report NotEnforced to users. tell returns whether it closed the Gate.
func (g *guards) tell(faults []fault) (held bool) {
	g.faults.Store(&faults)
	held = slices.ContainsFunc(faults, func(f fault) bool { return !slices.Contains(g.pack.Enforced, f.id.Name) })
	if held {
		g.pause()
	}
	g.protection.setLost(withFaults(g.unseen, faults), held)
	return held
}

// tellUnread reports that the guards could not be read. The faults of the last look count until the next
// look.
func (g *guards) tellUnread(err error) {
	unread := map[string]string{}
	for id := range g.wanted {
		unread[keyOf(id)] = "can't be read: " + err.Error()
	}
	g.protection.setLost(withFaults(unread, *g.faults.Load()), g.paused)
}

// withFaults returns the reasons why guards count as lost, with the reasons of faults added.
func withFaults(reasons map[string]string, faults []fault) map[string]string {
	lost := maps.Clone(reasons)
	for _, f := range faults {
		lost[keyOf(f.id)] = string(f.state) + ": install it again, or run with --install"
	}
	return lost
}

// begin reads the record of the previous operator once. If record.Since is set, guards.note keeps
// that resourceVersion for doubt.
func (g *guards) begin(ctx context.Context) error {
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

// recordGuards writes guards.known and guards.since into the record if either has changed.
func (g *guards) recordGuards(ctx context.Context) error {
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
