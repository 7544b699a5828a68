package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/pkg/object"
)

// checkOperator checks that an operator runs, that a leader renews the Lease kinship, and that each
// operator's release is the release of the CRDs.
func (d *doctor) checkOperator(ctx context.Context) (int, []Finding, error) {
	idle, err := d.checkIdlePacks(ctx)
	if err != nil {
		return 0, nil, err
	}
	if len(d.leases.Running) == 0 {
		last := "no operator runs"
		if d.leases.Leader != nil && !presence.Renewed(d.leases.Leader).IsZero() {
			last += fmt.Sprintf(": Lease %s was last renewed %s ago", options.LeaseName,
				d.now.Sub(presence.Renewed(d.leases.Leader)).Round(time.Second))
		}
		return 1, append(idle, Finding{
			Object: lease(options.LeaseName), Field: "spec.renewTime", Reason: "NoOperator", Message: last,
			Action: "start the operator (kubectl -n " + options.Namespace + " get pods, or kinship operator), or remove the " +
				"installation with kinship uninstall: without an operator, webhooks refuse",
		}), nil
	}
	var findings []Finding
	if l := d.leases.Leader; l != nil && !presence.HoldsAt(l, d.now) && d.leases.Elects() {
		findings = append(findings, Finding{
			Object: lease(options.LeaseName), Field: "spec.renewTime", Reason: "NoLeader",
			Message: fmt.Sprintf("%d operators run, and none of them leads: the Lease was last renewed %s ago",
				len(d.leases.Running), d.now.Sub(presence.Renewed(l)).Round(time.Second)),
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
	for _, p := range options.Packs(d.options) {
		if !slices.Contains(d.idle, p.Name) {
			continue
		}
		guards, err := install.IdleGuards(ctx, d.client, d.options, p)
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
	for _, s := range d.leases.Running {
		if s.Settings == nil || install.ReleaseOf(installed) == nil {
			continue
		}
		own := install.ReleaseOf(install.VersionMark(s.Settings.Version))
		if own == nil || own.EqualTo(install.ReleaseOf(installed)) {
			continue
		}
		f := Finding{
			Object: lease(s.Lease), Field: "metadata.annotations[" + presence.SettingsAnnotation + "]", Reason: "VersionSkew",
			Message: fmt.Sprintf("operator %s is of release %s, and the definitions are of release %s",
				s.Holder, s.Settings.Version, installed),
			Action: "finish the upgrade: start operators of release " + installed,
		}
		if install.ReleaseOf(installed).LessThan(own) {
			f.Action = "install the definitions of release " + s.Settings.Version +
				": helm upgrade, or kinship operator --install. Until then the API server drops fields that the operator writes"
		}
		findings = append(findings, f)
	}
	return findings, nil
}

func lease(name string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: options.Namespace, Name: name}
}
