package emulator

import (
	"net/http"
	"slices"
	"time"
)

const assignments = "identity/role_assignments"

// grants serves role assignments: the four paths that make assignments, and the list.
func (s *Server) grants() {
	for _, target := range []string{"projects", "domains"} {
		for _, actor := range []string{"users", "groups"} {
			path := identity.root + "/" + target + "/{target}/" + actor + "/{actor}/roles"
			on := func(verb, path string, do func(rq *request, g object) (any, error)) {
				s.guarded(identity, verb+" "+path, func(rq *request) (any, error) {
					g, err := rq.grant(target, actor)
					if err != nil {
						return nil, err
					}
					return do(rq, g)
				})
			}
			on(http.MethodPut, path+"/{role}", func(rq *request, g object) (any, error) {
				rq.store().put(assignments, g)
				return reply{status: http.StatusNoContent}, nil
			})
			on(http.MethodGet, path+"/{role}", checkGrant)
			on(http.MethodDelete, path+"/{role}", func(rq *request, g object) (any, error) {
				if _, err := checkGrant(rq, g); err != nil {
					return nil, err
				}
				rq.store().remove(assignments, g.id())
				return nil, nil
			})
			s.guarded(identity, "GET "+path, listGrants)
		}
	}
	s.guarded(identity, "GET "+identity.root+"/role_assignments", listAssignments)
}

// grant builds the role assignment of a path such as /projects/{target}/users/{actor}/roles/{role};
// project, user and role must exist.
func (rq *request) grant(target, actor string) (object, error) {
	if !rq.token.admin() {
		return nil, forbidden("You are not authorized to perform the requested action: identity:create_grant.")
	}
	g := object{
		"role": rq.PathValue("role"), "target": rq.PathValue("target"), "actor": rq.PathValue("actor"),
		"targetKind": target, "actorKind": actor,
	}
	for table, id := range map[string]string{target: g.str("target"), actor: g.str("actor"), "roles": g.str("role")} {
		if rq.store().get("identity/"+table, id) == nil {
			return nil, refuse(http.StatusNotFound, "HTTPNotFound", "Could not find %s: %s.", table[:len(table)-1], id)
		}
	}
	g["id"] = g.str("target") + "/" + g.str("actor") + "/" + g.str("role")
	return g, nil
}

func checkGrant(rq *request, g object) (any, error) {
	if rq.store().get(assignments, g.id()) == nil {
		return nil, refuse(http.StatusNotFound, "HTTPNotFound", "Could not find role assignment.")
	}
	return reply{status: http.StatusNoContent}, nil
}

func listGrants(rq *request) (any, error) {
	found := []any{}
	for _, g := range rq.store().where(assignments, nil) {
		if g.str("target") == rq.PathValue("target") && g.str("actor") == rq.PathValue("actor") {
			role := rq.store().get("identity/roles", g.str("role"))
			found = append(found, rq.cloud.named["identity/roles"].show(rq, role))
		}
	}
	return object{"roles": found, "links": object{"next": nil}}, nil
}

func listAssignments(rq *request) (any, error) {
	query := rq.URL.Query()
	wanted := func(key, value string) bool { return !query.Has(key) || query.Get(key) == value }
	found := []any{}
	for _, g := range rq.store().where(assignments, nil) {
		ids := map[string]string{g.str("targetKind"): g.str("target"), g.str("actorKind"): g.str("actor")}
		if !wanted("role.id", g.str("role")) || !wanted("user.id", ids["users"]) || !wanted("group.id", ids["groups"]) ||
			!wanted("scope.project.id", ids["projects"]) || !wanted("scope.domain.id", ids["domains"]) {
			continue
		}
		shown := object{"role": object{"id": g["role"]}, "links": object{}}
		target, actor := g.str("targetKind"), g.str("actorKind")
		if target == "system" {
			shown["scope"] = object{"system": object{"all": true}}
		} else {
			shown["scope"] = object{target[:len(target)-1]: object{"id": g["target"]}}
		}
		shown[actor[:len(actor)-1]] = object{"id": g["actor"]}
		found = append(found, shown)
	}
	return object{"role_assignments": found, "links": object{"next": nil}}, nil
}

// rolesOn returns the IDs of the roles that a user has on a project, domain or the
// system.
func (rq *request) rolesOn(target, user string) []string {
	var found []string
	for _, g := range rq.store().where(assignments, nil) {
		if g.str("target") == target && g.str("actor") == user {
			found = append(found, g.str("role"))
		}
	}
	return found
}

// dropGrants removes the assignments that name an object.
func dropGrants(rq *request, o object) error {
	for _, g := range rq.store().where(assignments, nil) {
		if slices.Contains([]string{g.str("target"), g.str("actor"), g.str("role")}, o.id()) {
			rq.store().remove(assignments, g.id())
		}
	}
	return nil
}

const applicationCredentials = "identity/application_credentials"

// credentials serves /v3/users/{user}/application_credentials, which this user may read and write,
// and an administrator may read and delete.
func (s *Server) credentials() {
	root := identity.root + "/users/{user}/application_credentials"
	owned := func(handle handler) handler {
		return func(rq *request) (any, error) {
			if rq.token.user != rq.PathValue("user") && (rq.Method == http.MethodPost || !rq.token.admin()) {
				return nil, forbidden("You are not authorized to perform the requested action.")
			}
			return handle(rq)
		}
	}
	find := func(rq *request) (object, error) {
		c := rq.store().get(applicationCredentials, rq.PathValue("id"))
		if c == nil || c.str("_user") != rq.PathValue("user") {
			return nil, refuse(http.StatusNotFound, "HTTPNotFound", "Could not find Application Credential.")
		}
		return c, nil
	}
	s.guarded(identity, "POST "+root, owned(createCredential))
	s.guarded(identity, "GET "+root, owned(func(rq *request) (any, error) {
		found := []any{}
		for _, c := range rq.store().by(applicationCredentials, "_user", rq.PathValue("user")) {
			if name := rq.URL.Query().Get("name"); name == "" || name == c.str("name") {
				found = append(found, visibleKeys(c))
			}
		}
		return object{"application_credentials": found, "links": object{"next": nil}}, nil
	}))
	s.guarded(identity, "GET "+root+"/{id}", owned(func(rq *request) (any, error) {
		c, err := find(rq)
		return object{"application_credential": visibleKeys(c)}, err
	}))
	s.guarded(identity, "DELETE "+root+"/{id}", owned(func(rq *request) (any, error) {
		c, err := find(rq)
		if err == nil {
			rq.store().remove(applicationCredentials, c.id())
		}
		return nil, err
	}))
	s.accessRules()
}

func visibleKeys(o object) object {
	shown := object{}
	for key, value := range o {
		if key[0] != '_' {
			shown[key] = value
		}
	}
	return shown
}

func createCredential(rq *request) (any, error) {
	given, err := rq.inside("application_credential")
	if err != nil {
		return nil, err
	}
	attrs := attributes{
		"name": {text, create | required, nil}, "description": {text, create | nullable, nil},
		"secret": {text, create | nullable, nil}, "expires_at": {text, create | nullable, nil},
		"roles": {list, create, []any{}}, "unrestricted": {flag, create, false}, "access_rules": {list, create, nil},
	}
	c, err := attrs.accept(rq, given, create)
	if err == nil {
		err = attrs.complete(c)
	}
	if err == nil {
		err = rq.completeCredential(c)
	}
	if err != nil {
		return nil, err
	}
	rq.store().put(applicationCredentials, c)
	shown := visibleKeys(c)
	shown["secret"] = c["_secret"] // This once.
	return object{"application_credential": shown}, nil
}

func (rq *request) completeCredential(c object) error {
	for _, other := range rq.store().by(applicationCredentials, "_user", rq.token.user) {
		if other.str("name") == c.str("name") {
			return conflicting("Conflict", "Conflict occurred attempting to store application_credential - Duplicate entry.")
		}
	}
	if text := c.str("expires_at"); text != "" {
		if _, err := time.Parse("2006-01-02T15:04:05", text[:min(len(text), 19)]); err != nil {
			return invalid("expires_at is not a date")
		}
	}
	if err := rq.credentialRoles(c); err != nil {
		return err
	}
	c["id"], c["_user"], c["project_id"] = keystoneID(), rq.token.user, rq.token.project
	c["user_id"] = rq.token.user
	c["_secret"] = c["secret"]
	if c["_secret"] == nil {
		c["_secret"] = randomHex(32)
	}
	delete(c, "secret")
	if c["access_rules"] == nil {
		delete(c, "access_rules")
		return nil
	}
	for _, rule := range c.objects("access_rules") {
		rule["id"] = keystoneID()
		rq.store().put("identity/access_rules", object{
			"id": rule["id"], "_user": rq.token.user, "_own": true,
			"service": rule["service"], "path": rule["path"], "method": rule["method"],
		})
	}
	return nil
}

// credentialRoles takes the roles asked for, or all that the user has now, which may be
// more than when the token was issued. Others can't be given away.
func (rq *request) credentialRoles(c object) error {
	wanted, has := c.objects("roles"), rq.token.roles
	if rq.token.method != "application_credential" {
		has = rq.rolesOn(rq.token.project, rq.token.user)
	}
	if len(wanted) == 0 {
		for _, id := range has {
			wanted = append(wanted, object{"id": id})
		}
	}
	roles := []any{}
	for _, ask := range wanted {
		role := rq.store().get("identity/roles", ask.id())
		if role == nil && ask.id() == "" {
			role = first(rq.store().by("identity/roles", "name", ask.str("name")))
			if role == nil {
				return refuse(http.StatusNotFound, "HTTPNotFound", "Role %s is not defined", ask.str("name"))
			}
		}
		if !slices.Contains(has, role.id()) {
			return invalid("Invalid application credential: Cannot create an application credential with unassigned role")
		}
		roles = append(roles, object{"id": role["id"], "name": role["name"], "domain_id": role["domain_id"]})
	}
	c["roles"] = roles
	return nil
}

// accessRules outlive the credentials that made the rules.
func (s *Server) accessRules() {
	root := identity.root + "/users/{user}/access_rules"
	s.guarded(identity, "GET "+root, func(rq *request) (any, error) {
		rules := rq.store().by("identity/access_rules", "_user", rq.PathValue("user"))
		found := make([]any, 0, len(rules))
		for _, rule := range rules {
			found = append(found, visibleKeys(rule))
		}
		return object{"access_rules": found, "links": object{"next": nil}}, nil
	})
	s.guarded(identity, "DELETE "+root+"/{id}", func(rq *request) (any, error) {
		rq.store().remove("identity/access_rules", rq.PathValue("id"))
		return nil, nil
	})
}
