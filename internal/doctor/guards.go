package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/internal/guards"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// checkGuards checks that the webhook configurations, policies and bindings of the packs exist, and
// are as strong as pack.Objects declares.
func (d *doctor) checkGuards(ctx context.Context) (int, []Finding, error) {
	checked := 0
	var findings []Finding
	for _, p := range d.chosen {
		if !d.leases.Runs(p.Name) && len(d.leases.Running) > 0 {
			continue // checkOperator tells of a pack that no operator runs.
		}
		closest, err := d.closest(ctx, p)
		if err != nil {
			return checked, findings, err
		}
		checked += len(d.templates[p.Name]) - len(closest.Unseen)
		for _, id := range closest.Unseen {
			findings = append(findings, unseenGuard(p, id))
		}
		for _, f := range closest.Faults {
			if d.skew && f.State == guards.Altered {
				continue // Another release has other guards.
			}
			findings = append(findings, guardFinding(p, f))
		}
	}
	return checked, findings, nil
}

func guardFinding(p pack.Pack, f guards.Fault) Finding {
	finding := Finding{
		Object: f.ID, Reason: "GuardMissing", Action: reinstall + ". An operator with --install restores it",
		Message: "it is missing, so requests that the pack " + p.Name + " should judge are not judged",
	}
	if f.State == guards.Altered {
		finding.Field, finding.Reason = "spec", "GuardAltered"
		finding.Message = "it was altered, so requests that the pack " + p.Name + " should judge may not be judged"
		if strings.HasSuffix(f.ID.Kind, "WebhookConfiguration") {
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
func (d *doctor) closest(ctx context.Context, p pack.Pack) (guards.Comparison, error) {
	var best guards.Comparison
	served, err := guards.ServesMutatingPolicies(d.options)
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
			templates, err := guards.Templates(o.Installation(mutating), p, d.client)
			if err != nil {
				return best, err
			}
			found, err := guards.Compare(ctx, d.client, guards.NewRecorder(d.client, p.Name), templates)
			if err != nil {
				return best, fmt.Errorf("compare the guards of pack %s: %w", p.Name, err)
			}
			if d.templates[p.Name] == nil || isCloser(found, best) {
				best, d.templates[p.Name] = found, templates
			}
		}
	}
	return best, nil
}

// isCloser reports whether a comparison has found fewer faults than another or, with as many faults, has fewer
// guards that the user may not read.
func isCloser(a, b guards.Comparison) bool {
	return cmp.Or(cmp.Compare(len(a.Faults), len(b.Faults)), cmp.Compare(len(a.Unseen), len(b.Unseen))) < 0
}
