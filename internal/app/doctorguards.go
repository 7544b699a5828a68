package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/internal/pack"
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
		faults, err := d.closest(ctx, p)
		if err != nil {
			return checked, findings, err
		}
		checked += len(d.templates[p.Name])
		for _, f := range faults {
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

// closest returns the faults of a pack's guards. The guards of a pack depend on --enforcement, and
// on whether the API server has MutatingAdmissionPolicy: closest compares the cluster with every
// combination, and returns the faults of the combination with the fewest.
func (d *doctor) closest(ctx context.Context, p pack.Pack) ([]fault, error) {
	served, err := servesMutatingPolicies(d.options)
	if err != nil {
		return nil, err
	}
	enforcements := []pack.Enforcement{d.options.Enforcement}
	if d.options.Enforcement == "" {
		enforcements = []pack.Enforcement{pack.ByWebhook, pack.ByPolicy}
	}
	g := &guards{pack: p, reader: d.client, recorder: recorder{d.client, p.Name}, log: d.options.Log}
	var best []fault
	for _, enforcement := range enforcements {
		for _, mutating := range []bool{served, false} {
			o := d.options
			o.Enforcement = enforcement
			templates, err := guardTemplates(o.installation(mutating), p, d.client)
			if err != nil {
				return nil, err
			}
			faults, _, err := g.compare(ctx, templates)
			if err != nil {
				return nil, fmt.Errorf("compare the guards of pack %s: %w", p.Name, err)
			}
			if d.templates[p.Name] == nil || len(faults) < len(best) {
				best, d.templates[p.Name] = faults, templates
			}
		}
	}
	return best, nil
}
