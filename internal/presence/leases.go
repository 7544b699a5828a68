package presence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// OperatorState describes a running operator by its Lease.
type OperatorState struct {
	// Lease is the name of the Lease that the operator renews, such as kinship-running-x7k2p.
	Lease string `json:"lease"`
	// Holder is spec.holderIdentity of the Lease: host and process id.
	Holder string `json:"holder"`
	// Renewed is spec.renewTime of the Lease.
	Renewed time.Time `json:"renewed"`
	// Settings are the operator's Settings, or nil for an operator of an earlier release.
	Settings *Settings `json:"settings,omitempty"`
}

// Operators are the Leases of operators in namespace kinship-system.
type Operators struct {
	// Leader is the Lease of the leader election, or nil.
	Leader *coordinationv1.Lease
	// Running are the operators that have renewed their Leases in time.
	Running []OperatorState
	// last has the Settings of the operator that ran last, or nil while an operator runs.
	last *Settings
}

// ReadOperators lists the Leases in namespace kinship-system.
func ReadOperators(ctx context.Context, c client.Reader, now time.Time) (Operators, error) {
	all := Operators{Running: []OperatorState{}}
	var list coordinationv1.LeaseList
	if err := c.List(ctx, &list, client.InNamespace(options.Namespace)); err != nil {
		return all, fmt.Errorf("list leases in namespace %s: %w", options.Namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b coordinationv1.Lease) int {
		return cmp.Or(Renewed(&a).Compare(Renewed(&b)), cmp.Compare(a.Name, b.Name))
	})
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Name == options.LeaseName {
			all.Leader = lease
		}
		if !strings.HasPrefix(lease.Name, Prefix) {
			continue
		}
		settings, known, err := recordedSettings(lease)
		if err != nil && !HoldsAt(lease, now) {
			continue // The operator has ended, and may have been of another release.
		}
		if err != nil {
			return all, err
		}
		if known {
			all.last = &settings
		}
		if !HoldsAt(lease, now) {
			continue
		}
		state := OperatorState{Lease: lease.Name, Holder: *lease.Spec.HolderIdentity, Renewed: Renewed(lease)}
		if known {
			state.Settings = &settings
		}
		all.Running = append(all.Running, state)
	}
	return all, nil
}

// Renewed returns spec.renewTime of a Lease, or the zero time.Time.
func Renewed(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}

// Settings returns the Settings of the running operators or, if no operator runs, leases.last.
func (l Operators) Settings() []Settings {
	var all []Settings
	for _, s := range l.Running {
		if s.Settings != nil {
			all = append(all, *s.Settings)
		}
	}
	if len(l.Running) == 0 && l.last != nil {
		all = append(all, *l.last)
	}
	return all
}

// Runs reports whether a running operator has a pack. An operator of an earlier release records no
// Settings, and counts as running every pack.
func (l Operators) Runs(packName string) bool {
	return slices.ContainsFunc(l.Running, func(s OperatorState) bool {
		return s.Settings == nil || slices.Contains(s.Settings.Packs, packName)
	})
}

// Elects reports whether a running operator has --leader-elect.
func (l Operators) Elects() bool {
	return slices.ContainsFunc(l.Running, func(s OperatorState) bool {
		return s.Settings == nil || s.Settings.LeaderElect
	})
}

// RestartTime is how long an operator with --leader-elect that was stopped may take to start again.
const RestartTime = 5 * time.Minute

// Restarting returns how long ago an operator with --leader-elect was stopped that may start again with any pack, or
// zero. An operator that stops deletes its own Lease, and leaves the Lease of the leader election. That Lease names no
// packs.
func (l Operators) Restarting(now time.Time) time.Duration {
	if l.Leader == nil || l.Elects() {
		return 0 // An operator that runs renews the Lease.
	}
	if ago := now.Sub(Renewed(l.Leader)); ago < RestartTime {
		return max(ago, time.Second)
	}
	return 0
}

// Answers returns the running operator that has a pack and serves webhooks at an address, or nil.
func (l Operators) Answers(packName, address string) *OperatorState {
	i := slices.IndexFunc(l.Running, func(s OperatorState) bool {
		return s.Settings != nil && slices.Contains(s.Settings.Packs, packName) && s.Settings.Address() == address
	})
	if i < 0 {
		return nil
	}
	return &l.Running[i]
}

// Enforcing returns the running operators that have a pack with an Enforcement.
func (l Operators) Enforcing(packName string, by pack.Enforcement) []OperatorState {
	var all []OperatorState
	for _, s := range l.Running {
		if s.Settings != nil && slices.Contains(s.Settings.Packs, packName) && s.Settings.Enforcement == by {
			all = append(all, s)
		}
	}
	return all
}
