package security_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// creations are the kinds that packs create, as resource.group, each with an object for
// which a pack creates one.
var creations = map[string]func(l land) client.Object{
	"deployments.apps": land.clinic,
	"serviceaccounts":  land.clinic,
	"routerinterfaces." + cloudGroup.Group: func(l land) client.Object {
		return l.outside("Subnet", "it", resources["Subnet"])
	},
}

// bookkeeping are kinds of which the operator creates objects for itself.
var bookkeeping = []string{
	"events.events.k8s.io", "events", "leases.coordination.k8s.io", "secrets",
	"subjectaccessreviews.authorization.k8s.io", "tokenreviews.authentication.k8s.io",
	"pods/eviction",         // A dry run.
	"serviceaccounts/token", // For its own accounts alone.
}

// clinic is an IotConnector without a serviceIdentity.
func (l land) clinic() client.Object {
	c := &iotv1alpha1.IotConnector{ObjectMeta: l.named("clinic")}
	c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "none"}}
	return c
}

// TestAuthorsRights: a pack creates nothing for an author who could not create it himself.
// For each kind that a pack may create, an author lacks the right to create just that.
func TestAuthorsRights(t *testing.T) {
	for _, mode := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		t.Run(string(mode), func(t *testing.T) {
			operator.Start(t, everyPack, func(o *app.Options) { o.Enforcement = mode })
			l := newLand(t)
			for _, created := range l.created() {
				t.Run(created, func(t *testing.T) {
					l := l
					l.t = t
					l.lacks(created)
				})
			}
		})
	}
}

// created returns the kinds that the operator has the right to create, but for bookkeeping.
func (l land) created() []string {
	l.t.Helper()
	var all []string
	for _, g := range l.granted() {
		if !slices.Contains(g.Verbs, rbacv1.VerbAll) && !slices.Contains(g.Verbs, "create") {
			continue
		}
		for _, group := range g.APIGroups {
			for _, resource := range g.Resources {
				name := strings.TrimSuffix(resource+"."+group, ".")
				if !slices.Contains(bookkeeping, name) {
					all = append(all, name)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lacks has an author create an object without the right to create one kind, and with it.
func (l land) lacks(created string) {
	l.t.Helper()
	object, ok := creations[created]
	if !ok {
		l.t.Fatalf("no object is known for which %s are created", created)
	}
	name, _, _ := strings.Cut(created, ".")
	own := []rbacv1.PolicyRule{
		right(iotv1alpha1.GroupVersion.Group, "iotconnectors", "create"), right(cloudGroup.Group, "subnets", "create"),
		right("", "secrets", "use"),
	}
	for other := range creations {
		if resource, group, _ := strings.Cut(other, "."); other != created {
			own = append(own, right(group, resource, "create"))
		}
	}
	poor, rich := l.user("poor-"+name), l.user("rich-"+name)
	l.allow(poor, own...)
	resource, group, _ := strings.Cut(created, ".")
	l.allow(rich, append(own, right(group, resource, "create"))...)
	obj := object(l)
	testenv.Eventually(l.t, func() error { // The API server learns of policies by a watch.
		err := l.as(poor).Create(l.t.Context(), obj.DeepCopyObject().(client.Object), client.DryRunAll)
		switch {
		case err == nil:
			return errors.New("an author without the right is not refused")
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must be allowed to create"):
			return fmt.Errorf("refused with other words: %w", err)
		}
		return nil
	})
	if err := l.as(rich).Create(l.t.Context(), obj, client.DryRunAll); err != nil {
		l.t.Errorf("an author with the right: %v", err)
	}
}
