package usage_test

import (
	"path"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
)

// testImpossible: a Usage that can never be fulfilled is refused, and such a Usage that was
// accepted anyway has the reason Invalid. No kind is watched for it.
func testImpossible(t *testing.T) {
	w := newWorld(t)
	event := resource("v1", "Event", "e")
	lease := resource("coordination.k8s.io/v1", "Lease", "l")
	upper := in("Elsewhere", named("a"))
	role := resource("rbac.authorization.k8s.io/v1", "Role", "kinship:Reader")
	cases := map[string]struct {
		reason string
		u      *protectionv1beta1.Usage
		want   string // empty if the spec is possible
	}{
		"by event":     {"events never cease", uses("u1", event, named("a")), "spec.by: Event objects are written all the time"},
		"of event":     {"events never cease", protects("u2", event, "x"), "spec.of: Event objects are written all the time"},
		"by new event": {"events never cease", uses("u3", resource("events.k8s.io/v1", "Event", "e"), named("a")), "spec.by: Event.events.k8s.io objects"},
		"by lease":     {"they are renewed all the time", uses("u4", lease, named("a")), "spec.by: Lease.coordination.k8s.io objects"},
		"name":         {"ConfigMaps have no such names", protects("u5", named("A_b"), "x"), `spec.of: no object can have the name "A_b"`},
		"Role":         {"Roles have", protects("u6", role, "x"), ""},
		"label":        {"labels have no such names", uses("u7", selected("a b", "c"), named("a")), `spec.by: no object can have the label "a b"`},
		"value":        {"labels have no such values", uses("u8", selected("a", "b c"), named("a")), `spec.by: no object can have the label a with the value "b c"`},
		"namespace":    {"namespaces have no such names", uses("u9", named("b"), upper), `spec.of: no object can have the namespace "Elsewhere"`},
	}
	begun := time.Now()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			taken := c.u.DeepCopy()
			err := w.tryCreate(c.u)
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				return
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%s: answered with %v, want %q", c.reason, err, c.want)
			}
			taken.Namespace = w.NS
			if err := w.asOperator().Create(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			if message := w.unready(taken, "Invalid"); !strings.HasPrefix(message, c.want) {
				t.Errorf("%s: message is %q, want %q", c.reason, message, c.want)
			}
		})
	}
	for _, kind := range []string{"events", "leases"} {
		watches := func(r request) bool { return path.Base(r.path) == kind && strings.Contains(r.query, "watch=true") }
		if watched := sent.all(after(begun), watches); len(watched) > 0 {
			t.Errorf("the operator watches:\n%s", watched)
		}
	}
}
