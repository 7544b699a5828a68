package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/domains"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func makeProject(t *testing.T, c *gophercloud.ServiceClient, opts projects.CreateOpts) *projects.Project {
	t.Helper()
	made := must[*projects.Project](t)(projects.Create(t.Context(), c, opts).Extract())
	later(t, "project", func(ctx context.Context) error { return projects.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func makeUser(t *testing.T, c *gophercloud.ServiceClient) *users.User {
	t.Helper()
	made := must[*users.User](t)(users.Create(t.Context(), c, users.CreateOpts{Name: unique("user"), Password: "one"}).Extract())
	later(t, "user", func(ctx context.Context) error { return users.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func makeGroupOfUsers(t *testing.T, c *gophercloud.ServiceClient) *groups.Group {
	t.Helper()
	made := must[*groups.Group](t)(groups.Create(t.Context(), c, groups.CreateOpts{Name: unique("group")}).Extract())
	later(t, "group", func(ctx context.Context) error { return groups.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func makeRole(t *testing.T, c *gophercloud.ServiceClient) *roles.Role {
	t.Helper()
	made := must[*roles.Role](t)(roles.Create(t.Context(), c, roles.CreateOpts{Name: unique("role")}).Extract())
	later(t, "role", func(ctx context.Context) error { return roles.Delete(ctx, c, made.ID).ExtractErr() })
	return made
}

func TestProject(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		made := makeProject(t, c, projects.CreateOpts{Name: unique("project"), Tags: []string{"kinship-uid=1"}})
		if !made.Enabled || made.DomainID != "default" || made.ParentID != "default" || !cmp.Equal([]string{"kinship-uid=1"}, made.Tags) {
			t.Errorf("a minimal project: %+v", made)
		}
		changed := must[*projects.Project](t)(projects.Update(ctx, c, made.ID, projects.UpdateOpts{
			Name: made.Name + "-new", Description: new("new"), Enabled: new(false), Tags: &[]string{"b"},
		}).Extract())
		if changed.Name != made.Name+"-new" || changed.Enabled || changed.Description != "new" || !cmp.Equal([]string{"b"}, changed.Tags) {
			t.Errorf("after the update: %+v", changed)
		}
		must[*projects.Project](t)(projects.Update(ctx, c, made.ID, projects.UpdateOpts{Name: made.Name, Enabled: new(true)}).Extract())
		_, err := projects.Create(ctx, c, projects.CreateOpts{Name: made.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = projects.Create(ctx, c, projects.CreateOpts{Name: string(make([]byte, 65))}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		_, err = projects.Create(ctx, client(t, w.member.Identity), projects.CreateOpts{Name: unique("project")}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		for reason, opts := range map[string]projects.ListOpts{
			"name": {Name: made.Name}, "tags": {Tags: "b", Name: made.Name}, "domain": {DomainID: "default", Name: made.Name},
		} {
			pages, err := projects.List(c, opts).AllPages(ctx)
			if found := must[[]projects.Project](t)(must2(projects.ExtractProjects(pages))(err)); len(found) != 1 {
				t.Errorf("found %d by %s", len(found), reason)
			}
		}
		if err := projects.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = projects.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestDomain(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		made := must[*domains.Domain](t)(domains.Create(ctx, c, domains.CreateOpts{Name: unique("domain")}).Extract())
		later(t, "domain", func(ctx context.Context) error {
			_, _ = domains.Update(ctx, c, made.ID, domains.UpdateOpts{Enabled: new(false)}).Extract()
			return domains.Delete(ctx, c, made.ID).ExtractErr()
		})
		if !made.Enabled {
			t.Errorf("a minimal domain: %+v", made)
		}
		_, err := domains.Create(ctx, c, domains.CreateOpts{Name: made.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		refused(t, domains.Delete(ctx, c, made.ID).ExtractErr(), http.StatusForbidden, "", openstack.Forbidden)
		// Keystone deletes the content of a domain with the domain.
		inner := must[*projects.Project](t)(projects.Create(ctx, c, projects.CreateOpts{
			Name: unique("project"), DomainID: made.ID,
		}).Extract())
		must[*domains.Domain](t)(domains.Update(ctx, c, made.ID, domains.UpdateOpts{Enabled: new(false), Description: new("new")}).Extract())
		if err := domains.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = projects.Get(ctx, c, inner.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		_, err = domains.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		_, err = projects.Create(ctx, c, projects.CreateOpts{Name: unique("project"), DomainID: noSuch}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
		_, err = users.Create(ctx, c, users.CreateOpts{Name: unique("user"), DomainID: noSuch}).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestUser(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		made := makeUser(t, c)
		if !made.Enabled || made.DomainID != "default" {
			t.Errorf("a minimal user: %+v", made)
		}
		changed := must[*users.User](t)(users.Update(ctx, c, made.ID, users.UpdateOpts{
			Name: made.Name + "-new", Description: new("new"), Enabled: new(false), Password: "two",
		}).Extract())
		if changed.Name != made.Name+"-new" || changed.Enabled || changed.Description != "new" {
			t.Errorf("after the update: %+v", changed)
		}
		_, err := users.Create(ctx, c, users.CreateOpts{Name: changed.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		pages, err := users.List(c, users.ListOpts{Name: changed.Name, DomainID: "default"}).AllPages(ctx)
		if found := must[[]users.User](t)(must2(users.ExtractUsers(pages))(err)); len(found) != 1 {
			t.Errorf("found %d by name", len(found))
		}
		if err := users.Delete(ctx, c, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = users.Get(ctx, c, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestGroupAndRole(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		group, role := makeGroupOfUsers(t, c), makeRole(t, c)
		changed := must[*groups.Group](t)(groups.Update(ctx, c, group.ID, groups.UpdateOpts{
			Name: group.Name + "-new", Description: new("new"),
		}).Extract())
		if changed.Name != group.Name+"-new" || changed.Description != "new" || changed.DomainID != "default" {
			t.Errorf("the group after the update: %+v", changed)
		}
		renamed := must[*roles.Role](t)(roles.Update(ctx, c, role.ID, roles.UpdateOpts{
			Name: role.Name + "-new", Description: new("new"),
		}).Extract())
		if renamed.Name != role.Name+"-new" || renamed.Description != "new" || renamed.DomainID != "" {
			t.Errorf("the role after the update: %+v", renamed)
		}
		_, err := groups.Create(ctx, c, groups.CreateOpts{Name: changed.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = roles.Create(ctx, c, roles.CreateOpts{Name: renamed.Name}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = groups.Get(ctx, c, noSuch).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		_, err = roles.Get(ctx, c, noSuch).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestRoleAssignment(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		user, group, role := makeUser(t, c), makeGroupOfUsers(t, c), makeRole(t, c)
		project := makeProject(t, c, projects.CreateOpts{Name: unique("project")})
		for reason, opts := range map[string]roles.AssignOpts{
			"user on project":  {UserID: user.ID, ProjectID: project.ID},
			"group on project": {GroupID: group.ID, ProjectID: project.ID},
			"user on domain":   {UserID: user.ID, DomainID: "default"},
			"group on domain":  {GroupID: group.ID, DomainID: "default"},
		} {
			t.Run(reason, func(t *testing.T) {
				filter := roles.ListAssignmentsOpts{
					RoleID: role.ID, UserID: opts.UserID, GroupID: opts.GroupID,
					ScopeProjectID: opts.ProjectID, ScopeDomainID: opts.DomainID,
				}
				count := func() int {
					pages, err := roles.ListAssignments(c, filter).AllPages(ctx)
					return len(must[[]roles.RoleAssignment](t)(must2(roles.ExtractRoleAssignments(pages))(err)))
				}
				for range 2 { // The second time changes nothing.
					if err := roles.Assign(ctx, c, role.ID, opts).ExtractErr(); err != nil {
						t.Fatal(err)
					}
				}
				if n := count(); n != 1 {
					t.Errorf("found %d assignments", n)
				}
				if err := roles.Unassign(ctx, c, role.ID, roles.UnassignOpts(opts)).ExtractErr(); err != nil {
					t.Fatal(err)
				}
				if n := count(); n != 0 {
					t.Errorf("found %d assignments after the end", n)
				}
				gone(t, roles.Unassign(ctx, c, role.ID, roles.UnassignOpts(opts)).ExtractErr())
			})
		}
		err := roles.Assign(ctx, c, noSuch, roles.AssignOpts{UserID: user.ID, ProjectID: project.ID}).ExtractErr()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

func TestServiceAndEndpoint(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Identity)
		service := must[*services.Service](t)(services.Create(ctx, c, services.CreateOpts{
			Type: "contract", Name: unique("service"), Description: "one",
		}).Extract())
		later(t, "service", func(ctx context.Context) error { return services.Delete(ctx, c, service.ID).ExtractErr() })
		changed := must[*services.Service](t)(services.Update(ctx, c, service.ID, services.UpdateOpts{
			Type: "contract2", Name: new("new"), Enabled: new(false), Description: new("two"),
		}).Extract())
		if changed.Type != "contract2" || changed.Enabled || changed.Name != "new" || changed.Description != "two" {
			t.Errorf("the service after the update: %+v", changed)
		}
		endpoint := must[*endpoints.Endpoint](t)(endpoints.Create(ctx, c, endpoints.CreateOpts{
			Availability: "public", ServiceID: service.ID, URL: "http://127.0.0.1:1",
		}).Extract())
		later(t, "endpoint", func(ctx context.Context) error { return endpoints.Delete(ctx, c, endpoint.ID).ExtractErr() })
		moved := must[*endpoints.Endpoint](t)(endpoints.Update(ctx, c, endpoint.ID, endpoints.UpdateOpts{
			URL: "http://127.0.0.1:2", Availability: "internal", Enabled: new(false),
		}).Extract())
		if moved.URL != "http://127.0.0.1:2" || moved.Availability != "internal" || moved.Enabled {
			t.Errorf("the endpoint after the update: %+v", moved)
		}
		pages, err := endpoints.List(c, endpoints.ListOpts{ServiceID: service.ID, Availability: "internal"}).AllPages(ctx)
		if found := must[[]endpoints.Endpoint](t)(must2(endpoints.ExtractEndpoints(pages))(err)); len(found) != 1 {
			t.Errorf("found %d endpoints", len(found))
		}
		_, err = endpoints.Create(ctx, c, endpoints.CreateOpts{Availability: "public", ServiceID: noSuch, URL: "http://127.0.0.1:1"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
		_, err = endpoints.Create(ctx, c, endpoints.CreateOpts{Availability: "x", ServiceID: service.ID, URL: "http://127.0.0.1:1"}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Invalid)
		// Its endpoints go with a service.
		if err := services.Delete(ctx, c, service.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = endpoints.Get(ctx, c, endpoint.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		_, err = services.Get(ctx, c, service.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
	})
}

// TestServiceSilent: a service created without a description has no description, not an empty
// one, until a request sets an empty description.
func TestServiceSilent(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		l := &lister{T: t, w: w, scope: w.admin}
		c := client(t, w.admin.Identity)
		id := l.post((*openstack.Scope).Identity, "services", "service", fields{"type": "contract", "description": nil})
		address := c.ServiceURL("services", id)
		read := func() map[string]any {
			var answer map[string]map[string]any
			if err := send(t.Context(), c, http.MethodGet, address, nil, &answer); err != nil {
				t.Fatal(err)
			}
			return answer["service"]
		}
		if text, told := read()["description"]; told {
			t.Errorf("without a description: %v", text)
		}
		body := fields{"service": fields{"description": ""}}
		if err := send(t.Context(), c, http.MethodPatch, address, body, nil); err != nil {
			t.Fatal(err)
		}
		if text, told := read()["description"]; !told || text != "" {
			t.Errorf("with an empty description: %v, told %t", text, told)
		}
	})
}

func TestApplicationCredential(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c, user := t.Context(), client(t, w.member.Identity), w.member.UserID
		made := must[*applicationcredentials.ApplicationCredential](t)(applicationcredentials.Create(ctx, c, user,
			applicationcredentials.CreateOpts{
				Name: unique("credential"), Description: "one", Secret: "secret",
				Roles:       []applicationcredentials.Role{{Name: "member"}},
				AccessRules: []applicationcredentials.AccessRule{{Path: "/v2.0/networks", Method: "GET", Service: "network"}},
			}).Extract())
		later(t, "application credential", func(ctx context.Context) error {
			return applicationcredentials.Delete(ctx, c, user, made.ID).ExtractErr()
		})
		if len(made.Roles) != 1 || made.Secret != "secret" || made.Unrestricted || len(made.AccessRules) != 1 ||
			made.ProjectID != w.member.ProjectID {
			t.Errorf("an application credential: %+v", made)
		}
		read := must[*applicationcredentials.ApplicationCredential](t)(applicationcredentials.Get(ctx, c, user, made.ID).Extract())
		if read.Secret != "" {
			t.Error("the secret can be read again")
		}
		// Without roles, the credential would get all roles of the user, and other tests assign
		// and revoke roles.
		_, err := applicationcredentials.Create(ctx, c, user, applicationcredentials.CreateOpts{
			Name: made.Name, Roles: []applicationcredentials.Role{{Name: "member"}},
		}).Extract()
		refused(t, err, http.StatusConflict, "", openstack.Exists)
		_, err = applicationcredentials.Create(ctx, c, user, applicationcredentials.CreateOpts{
			Name: unique("credential"), Roles: []applicationcredentials.Role{{Name: "admin"}},
		}).Extract()
		refused(t, err, http.StatusBadRequest, "", openstack.Busy)
		_, err = applicationcredentials.Create(ctx, c, w.admin.UserID, applicationcredentials.CreateOpts{Name: unique("credential")}).Extract()
		refused(t, err, http.StatusForbidden, "", openstack.Forbidden)
		if err := applicationcredentials.Delete(ctx, c, user, made.ID).ExtractErr(); err != nil {
			t.Fatal(err)
		}
		_, err = applicationcredentials.Get(ctx, c, user, made.ID).Extract()
		refused(t, err, http.StatusNotFound, "", openstack.NotFound)
		for _, rule := range made.AccessRules {
			if err := applicationcredentials.DeleteAccessRule(ctx, c, user, rule.ID).ExtractErr(); err != nil {
				t.Errorf("the access rule is left, and can't be deleted: %v", err)
			}
		}
	})
}
