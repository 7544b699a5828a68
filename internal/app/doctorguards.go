package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// checkGuards checks that the webhook configurations, policies and bindings of the packs exist, and
// are as strong as pack.Objects declares.
func (d *doctor) checkGuards(ctx context.Context) (int, []Finding, error) {
	checked := 0
	var findings []Finding
	for _, p := range d.chosen {
		if !d.leases.runs(p.Name) && len(d.leases.states) > 0 {
			continue // checkOperator tells of a pack that no operator runs.
		}
		closest, err := d.closest(ctx, p)
		if err != nil {
			return checked, findings, err
		}
		checked += len(d.templates[p.Name]) - len(closest.unseen)
		for _, id := range closest.unseen {
			findings = append(findings, unseenGuard(p, id))
		}
		for _, f := range closest.faults {
			if d.skew && f.state == altered {
				continue // Another release has other guards.
			}
			findings = append(findings, guardFinding(p, f))
		}
	}
	return checked, findings, nil
}

func guardFinding(p pack.Pack, f fault) Finding {
	finding := Finding{
		Object: f.id, Reason: "GuardMissing", Action: reinstall + ". An operator with --install restores it",
		Message: "it is missing, so requests that the pack " + p.Name + " should judge are not judged",
	}
	if f.state == altered {
		finding.Field, finding.Reason = "spec", "GuardAltered"
		finding.Message = "it was altered, so requests that the pack " + p.Name + " should judge may not be judged"
		if strings.HasSuffix(f.id.Kind, "WebhookConfiguration") {
			finding.Field = "webhooks"
		}
	}
	return finding
}

// unseenGuard returns the Finding of a guard that the user has no right to read.
func unseenGuard(p pack.Pack, id object.ID) Finding {
	return Finding{
		Object: id, Reason: "NotChecked",
		Message: "you may not read this guard of the pack " + p.Name + ", so the guard may be missing or altered",
		Action:  "run kinship doctor as a user with this right, such as a cluster administrator",
	}
}

// closest returns how the guards of a pack differ from their templates. The guards of a pack depend on --enforcement,
// and on whether the API server has MutatingAdmissionPolicy: closest compares the cluster with every combination, and
// returns the comparison with the fewest faults.
func (d *doctor) closest(ctx context.Context, p pack.Pack) (comparison, error) {
	var best comparison
	served, err := servesMutatingPolicies(d.options)
	if err != nil {
		return best, err
	}
	enforcements := []pack.Enforcement{d.options.Enforcement}
	if d.options.Enforcement == "" {
		enforcements = []pack.Enforcement{pack.ByWebhook, pack.ByPolicy}
	}
	for _, enforcement := range enforcements {
		for _, mutating := range []bool{served, false} {
			o := d.options
			o.Enforcement = enforcement
			templates, err := guardTemplates(o.installation(mutating), p, d.client)
			if err != nil {
				return best, err
			}
			found, err := compareGuards(ctx, d.client, recorder{d.client, p.Name}, templates)
			if err != nil {
				return best, fmt.Errorf("compare the guards of pack %s: %w", p.Name, err)
			}
			if d.templates[p.Name] == nil || found.less(best) {
				best, d.templates[p.Name] = found, templates
			}
		}
	}
	return best, nil
}

// less reports whether a comparison has found fewer faults than another or, with as many faults, has fewer
// guards that the user may not read.
func (c comparison) less(other comparison) bool {
	return cmp.Or(cmp.Compare(len(c.faults), len(other.faults)), cmp.Compare(len(c.unseen), len(other.unseen))) < 0
}
