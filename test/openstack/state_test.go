package openstack_test

import (
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// later is an object that OpenStack refuses because of the state of another resource, although
// its spec is right: the object waits, and is created after that state has changed.
type later struct {
	what, kind string
	// needs exist before, and resource is refused with a text that contains why.
	needs         []string
	resource, why string
	// changes cause the needed state.
	changes func(w *world)
}

var laters = []later{
	{
		what: "a role that is assigned later", kind: "ApplicationCredential",
		needs: []string{
			imported("User", "me", "{filter: {name: admin}}"), imported("Project", "mine", "{filter: {name: admin}}"),
			managed("Role", "role", "{}"), "\napiVersion: v1\nkind: Secret\nmetadata: {name: value}\nstringData: {value: hush}\n---",
		},
		resource: "{userRef: me, secretRef: value, roleRefs: [role]}", why: "unassigned role",
		changes: func(w *world) {
			w.apply(managed("RoleAssignment", "grant", "{roleRef: role, userRef: me, projectRef: mine}"))
			w.available("RoleAssignment", "grant")
		},
	},
	{
		what: "a domain that is enabled later", kind: "Project",
		needs: []string{managed("Domain", "domain", "{enabled: false}")}, resource: "{domainRef: domain}",
		why: "disabled project", changes: func(w *world) {
			w.edit("Domain", "domain", `{"spec":{"resource":{"enabled":true}}}`)
			w.available("Domain", "domain")
		},
	},
	{
		what: "addresses that are free later", kind: "Subnet",
		needs: []string{
			managed("Network", "net", "{}"), managed("Subnet", "first", "{networkRef: net, ipVersion: 4, cidr: 10.9.0.0/24}"),
		},
		resource: "{networkRef: net, ipVersion: 4, cidr: 10.9.0.0/16}", why: "overlaps with another subnet",
		changes: func(w *world) {
			w.delete("Subnet", "first")
			w.gone("Subnet", "first")
		},
	},
	{
		what: "a network that is external later", kind: "Router",
		needs: []string{
			managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 192.0.2.0/24}"),
		},
		resource: "{externalGateways: [{networkRef: net}]}", why: "is not an external network",
		changes: func(w *world) {
			w.edit("Network", "net", `{"spec":{"resource":{"external":true}}}`)
			w.available("Network", "net")
		},
	},
}

// waits tests one such object.
func (l *later) waits(w *world) {
	w.t.Helper()
	needs := scenario{needs: l.needs}
	needs.prepare(w)
	w.apply(managed(l.kind, "it", l.resource))
	testenv.Eventually(w.t, func() error {
		progressing, _ := find(w.get(l.kind, "it"), "Progressing")
		if progressing.status != "True" || progressing.reason != "TransientError" || !strings.Contains(progressing.message, l.why) {
			return fmt.Errorf("%s/it: %+v", l.kind, progressing)
		}
		return nil
	})
	l.changes(w)
	w.available(l.kind, "it")
}
