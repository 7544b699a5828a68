package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	gopenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// TestRoleLater: after a role is assigned to a user, the role is allowed in the user's
// application credentials, even with an older token.
func TestRoleLater(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		user, project := makeUser(t, c), makeProject(t, c, projects.CreateOpts{Name: unique("project")})
		assign := func() string {
			role := makeRole(t, c)
			opts := roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}
			if err := roles.Assign(ctx, c, role.ID, opts).ExtractErr(); err != nil {
				t.Fatal(err)
			}
			return role.ID
		}
		assign()
		own := login(t, c.Endpoint, user.ID, project.ID)
		make := func(role string) error {
			_, err := applicationcredentials.Create(ctx, own, user.ID, applicationcredentials.CreateOpts{
				Name: unique("credential"), Roles: []applicationcredentials.Role{{ID: role}},
			}).Extract()
			return err
		}
		refused(t, make(noSuch), http.StatusBadRequest, "", openstack.Busy)
		refused(t, make(makeRole(t, c).ID), http.StatusBadRequest, "", openstack.Busy)
		if err := make(assign()); err != nil {
			t.Errorf("with a role that was assigned later: %v", err)
		}
	})
}

// login returns a client of Keystone for a user of makeUser.
func login(t *testing.T, endpoint, user, project string) *gophercloud.ServiceClient {
	t.Helper()
	provider, err := gopenstack.AuthenticatedClient(t.Context(), gophercloud.AuthOptions{
		IdentityEndpoint: endpoint, UserID: user, Password: "one", Scope: &gophercloud.AuthScope{ProjectID: project},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := gopenstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDisabledDomain: no project is made or enabled in a domain until that is enabled.
func TestDisabledDomain(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		domain := must[*domains.Domain](t)(domains.Create(ctx, c, domains.CreateOpts{Name: unique("domain")}).Extract())
		enable := func(ctx context.Context, enabled bool) {
			if _, err := domains.Update(ctx, c, domain.ID, domains.UpdateOpts{Enabled: &enabled}).Extract(); err != nil {
				t.Error(err)
			}
		}
		later(t, "domain", func(ctx context.Context) error {
			enable(ctx, false)
			return domains.Delete(ctx, c, domain.ID).ExtractErr()
		})
		off := makeProject(t, c, projects.CreateOpts{Name: unique("off"), DomainID: domain.ID, Enabled: new(false)})
		enable(ctx, false)
		_, err := projects.Create(ctx, c, projects.CreateOpts{Name: unique("project"), DomainID: domain.ID}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
		for what, opts := range map[string]projects.UpdateOpts{
			"enabled": {Enabled: new(true)}, "described": {Description: new("new")}, // Keystone's default is enabled.
		} {
			t.Run(what, func(t *testing.T) {
				_, err := projects.Update(ctx, c, off.ID, opts).Extract()
				refused(t, err, http.StatusForbidden, "", openstack.Busy)
			})
		}
		enable(ctx, true)
		must[*projects.Project](t)(projects.Update(ctx, c, off.ID, projects.UpdateOpts{Enabled: new(true)}).Extract())
	})
}

// TestOverlappingSubnet: a subnet can be created after the overlapping subnet was deleted.
func TestOverlappingSubnet(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.member.Network)
		network := makeNetwork(t, c, "overlapping")
		first := makeSubnet(t, c, network.ID, "10.30.0.0/24")
		opts := subnets.CreateOpts{NetworkID: network.ID, CIDR: "10.30.0.0/16", IPVersion: 4}
		_, err := subnets.Create(ctx, c, opts).Extract()
		refused(t, err, http.StatusBadRequest, "InvalidInput", openstack.Busy)
		if err := subnets.Delete(ctx, c, first.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		must[*subnets.Subnet](t)(subnets.Create(ctx, c, opts).Extract())
	})
}
