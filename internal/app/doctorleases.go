package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
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

// leases are the Leases of operators in namespace kinship-system.
type leases struct {
	// leader is the Lease of the leader election, or nil.
	leader *coordinationv1.Lease
	states []OperatorState // that run
	// last has the Settings of the operator that ran last, or nil while an operator runs.
	last *Settings
}

// readLeases lists the Leases in namespace kinship-system.
func readLeases(ctx context.Context, c client.Reader, now time.Time) (leases, error) {
	all := leases{states: []OperatorState{}}
	var list coordinationv1.LeaseList
	if err := c.List(ctx, &list, client.InNamespace(Namespace)); err != nil {
		return all, fmt.Errorf("list leases in namespace %s: %w", Namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b coordinationv1.Lease) int {
		return cmp.Or(renewed(&a).Compare(renewed(&b)), cmp.Compare(a.Name, b.Name))
	})
	for i := range list.Items {
		lease := &list.Items[i]
		if lease.Name == leaseName {
			all.leader = lease
		}
		if !strings.HasPrefix(lease.Name, presencePrefix) {
			continue
		}
		settings, known, err := settingsOf(lease)
		if err != nil && !holdsAt(lease, now) {
			continue // The operator has ended, and may have been of another release.
		}
		if err != nil {
			return all, err
		}
		if known {
			all.last = &settings
		}
		if !holdsAt(lease, now) {
			continue
		}
		state := OperatorState{Lease: lease.Name, Holder: *lease.Spec.HolderIdentity, Renewed: renewed(lease)}
		if known {
			state.Settings = &settings
		}
		all.states = append(all.states, state)
	}
	return all, nil
}

// renewed returns spec.renewTime of a Lease, or the zero time.Time.
func renewed(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}

// settings returns the Settings of the running operators or, if no operator runs, leases.last.
func (l leases) settings() []Settings {
	var all []Settings
	for _, s := range l.states {
		if s.Settings != nil {
			all = append(all, *s.Settings)
		}
	}
	if len(l.states) == 0 && l.last != nil {
		all = append(all, *l.last)
	}
	return all
}

// runs reports whether a running operator has a pack. An operator of an earlier release records no
// Settings, and counts as running every pack.
func (l leases) runs(packName string) bool {
	return slices.ContainsFunc(l.states, func(s OperatorState) bool {
		return s.Settings == nil || slices.Contains(s.Settings.Packs, packName)
	})
}

// elects reports whether a running operator has --leader-elect.
func (l leases) elects() bool {
	return slices.ContainsFunc(l.states, func(s OperatorState) bool { return s.Settings == nil || s.Settings.LeaderElect })
}

// checkOperator checks that an operator runs, that a leader renews the Lease kinship, and that each
// operator's release is the release of the CRDs.
func (d *doctor) checkOperator(ctx context.Context) (int, []Finding, error) {
	idle, err := d.checkIdlePacks(ctx)
	if err != nil {
		return 0, nil, err
	}
	if len(d.leases.states) == 0 {
		last := "no operator runs"
		if d.leases.leader != nil && !renewed(d.leases.leader).IsZero() {
			last += fmt.Sprintf(": Lease %s was last renewed %s ago", leaseName,
				d.now.Sub(renewed(d.leases.leader)).Round(time.Second))
		}
		return 1, append(idle, Finding{
			Object: lease(leaseName), Field: "spec.renewTime", Reason: "NoOperator", Message: last,
			Action: "start the operator (kubectl -n " + Namespace + " get pods, or kinship operator), or remove the " +
				"installation with kinship uninstall: without an operator, webhooks refuse",
		}), nil
	}
	var findings []Finding
	if l := d.leases.leader; l != nil && !holdsAt(l, d.now) && d.leases.elects() {
		findings = append(findings, Finding{
			Object: lease(leaseName), Field: "spec.renewTime", Reason: "NoLeader",
			Message: fmt.Sprintf("%d operators run, and none of them leads: the Lease was last renewed %s ago",
				len(d.leases.states), d.now.Sub(renewed(l)).Round(time.Second)),
			Action: "read the operators' logs: an operator that can't renew the Lease ends",
		})
	}
	findings = append(findings, idle...)
	skewed, err := d.checkVersions(ctx)
	return 2 + len(d.chosen), append(findings, skewed...), err
}

// checkIdlePacks finds installed packs that no operator runs. With no operator to answer the
// webhooks of such a pack, the API server refuses the requests that the webhooks judge.
func (d *doctor) checkIdlePacks(ctx context.Context) ([]Finding, error) {
	var findings []Finding
	for _, p := range Packs(d.options) {
		if !slices.Contains(d.idle, p.Name) {
			continue
		}
		guards, err := idleGuards(ctx, d.client, d.options, p)
		if err != nil {
			return nil, err
		}
		for _, g := range guards {
			findings = append(findings, Finding{
				Object: object.ID{Group: g.GroupVersionKind().Group, Kind: g.GetKind(), Name: g.GetName()}, Reason: "PackNotRun",
				Message: "the API server judges requests by this guard of the pack " + p.Name + ", which no operator runs",
				Action:  "run the pack (--packs), or kinship uninstall --packs " + p.Name,
			})
		}
	}
	return findings, nil
}

// checkVersions compares Settings.Version of each running operator with installedVersion.
func (d *doctor) checkVersions(ctx context.Context) ([]Finding, error) {
	installed, err := d.installedVersion(ctx)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, s := range d.leases.states {
		if s.Settings == nil || release(installed) == nil {
			continue
		}
		own := release(versionMark(s.Settings.Version))
		if own == nil || own.EqualTo(release(installed)) {
			continue
		}
		f := Finding{
			Object: lease(s.Lease), Field: "metadata.annotations[" + settingsAnnotation + "]", Reason: "VersionSkew",
			Message: fmt.Sprintf("operator %s is of release %s, and the definitions are of release %s",
				s.Holder, s.Settings.Version, installed),
			Action: "finish the upgrade: start operators of release " + installed,
		}
		if release(installed).LessThan(own) {
			f.Action = "install the definitions of release " + s.Settings.Version +
				": helm upgrade, or kinship operator --install. Until then the API server drops fields that the operator writes"
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func lease(name string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: Namespace, Name: name}
}
