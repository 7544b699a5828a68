package install

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinship-dev/kinship/internal/options"
)

// TestWebhookRightsAreNamed: whatever packs are on, the process may change webhook configurations by
// name alone. A rule without names would be about the webhooks of the whole cluster.
func TestWebhookRightsAreNamed(t *testing.T) {
	for _, name := range append(options.PackNames(), "") {
		o := options.Options{Packs: []string{name}}
		if name == "" {
			o.Packs = nil
		}
		objects, err := Objects(o, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objects {
			role, ok := obj.(*rbacv1.ClusterRole)
			if !ok {
				continue
			}
			for _, rule := range role.Rules {
				if slices.Contains(rule.Resources, "validatingwebhookconfigurations") &&
					slices.Contains(rule.Verbs, "patch") && len(rule.ResourceNames) == 0 {
					t.Errorf("packs %v: ClusterRole %s may change every webhook configuration", o.Packs, role.Name)
				}
			}
		}
	}
}
