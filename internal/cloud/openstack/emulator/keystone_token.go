package emulator

import (
	"net/http"
	"slices"
	"time"
)

// token is one login (POST /v3/auth/tokens). Tokens are in Server.tokens and not in Server.objects,
// since a token is no resource.
type token struct {
	id      string
	user    string
	project string
	domain  string
	system  bool
	roles   []string // IDs
	names   []string
	issued  time.Time
	expires time.Time
	method  string
}

func (t *token) admin() bool { return slices.Contains(t.names, "admin") }

func unauthorized() error {
	return refuse(http.StatusUnauthorized, "HTTPUnauthorized", "The request you have made requires authentication.")
}

func (s *Server) tokenOf(id string, now time.Time) *token {
	t := s.tokens[id]
	if t == nil || now.After(t.expires) {
		return nil
	}
	return t
}

// issueToken is POST /auth/tokens. Every wrong login gets 401, without a reason.
func (s *Server) issueToken(rq *request) (any, error) {
	ask := asObject(rq.body["auth"])
	identity := asObject(ask["identity"])
	methods := identity.strings("methods")
	if len(methods) != 1 {
		return nil, invalid("auth.identity.methods must name one method")
	}
	t := &token{id: randomHex(32), issued: rq.now, expires: rq.now.Add(s.options.TokenLife), method: methods[0]}
	var err error
	switch t.method {
	case "password":
		err = t.byPassword(rq, asObject(asObject(identity["password"])["user"]))
	case "token":
		err = t.byToken(rq, asObject(identity["token"]).str("id"))
	case "application_credential":
		err = t.byCredential(rq, asObject(identity["application_credential"]))
	default:
		err = unauthorized()
	}
	if err != nil {
		return nil, err
	}
	if t.method != "application_credential" {
		if err := t.limit(rq, ask["scope"]); err != nil {
			return nil, err
		}
	}
	s.tokens[t.id] = t
	return reply{
		status: http.StatusCreated, body: object{"token": t.view(rq)}, header: map[string]string{"X-Subject-Token": t.id},
	}, nil
}

func (t *token) byPassword(rq *request, who object) error {
	user := rq.userOf(who)
	if user == nil || user.str("_password") != who.str("password") || who.str("password") == "" || !user.flag("enabled") {
		return unauthorized()
	}
	t.user = user.id()
	return nil
}

func (t *token) byToken(rq *request, id string) error {
	old := rq.cloud.tokenOf(id, rq.now)
	if old == nil {
		return unauthorized()
	}
	t.user, t.expires = old.user, old.expires
	return nil
}

func (t *token) byCredential(rq *request, ask object) error {
	for _, c := range rq.store().where("identity/application_credentials", nil) {
		named := ask.str("id") == "" && c.str("name") == ask.str("name")
		if c.id() != ask.str("id") && !named {
			continue
		}
		if user := rq.userOf(asObject(ask["user"])); named && (user == nil || user.id() != c.str("_user")) {
			continue
		}
		if c.str("_secret") != ask.str("secret") {
			return unauthorized()
		}
		t.user, t.project = c.str("_user"), c.str("project_id")
		for _, role := range c.objects("roles") {
			t.roles = append(t.roles, role.id())
		}
		t.nameRoles(rq)
		return nil
	}
	return unauthorized()
}

// userOf finds a user by ID, or by name in a domain.
func (rq *request) userOf(who object) object {
	if id := who.str("id"); id != "" {
		return rq.store().get("identity/users", id)
	}
	domain := rq.domainOf(asObject(who["domain"]))
	return first(rq.store().where("identity/users", func(o object) bool {
		return o.str("name") == who.str("name") && o.str("domain_id") == domain
	}))
}

func (rq *request) domainOf(who object) string {
	if id := who.str("id"); id != "" {
		return id
	}
	return first(rq.store().by("identity/domains", "name", who.str("name"))).id()
}

func first(objects []object) object {
	if len(objects) == 0 {
		return nil
	}
	return objects[0]
}

// limit sets the scope of the token.
func (t *token) limit(rq *request, asked any) error {
	scope := asObject(asked)
	user := rq.store().get("identity/users", t.user)
	switch {
	case scope["system"] != nil:
		t.system = true
		t.roles = rq.rolesOn("system", t.user)
	case scope["project"] != nil:
		project := rq.projectOf(asObject(scope["project"]))
		if project == nil || !project.flag("enabled") {
			return unauthorized()
		}
		t.project = project.id()
	case scope["domain"] != nil:
		t.domain = rq.domainOf(asObject(scope["domain"]))
	case user.str("default_project_id") != "":
		t.project = user.str("default_project_id")
	default:
		return nil
	}
	if !t.system {
		t.roles = rq.rolesOn(t.project+t.domain, t.user)
	}
	if len(t.roles) == 0 {
		return unauthorized()
	}
	t.nameRoles(rq)
	return nil
}

func (rq *request) projectOf(who object) object {
	if id := who.str("id"); id != "" {
		return rq.store().get("identity/projects", id)
	}
	domain := rq.domainOf(asObject(who["domain"]))
	return first(rq.store().where("identity/projects", func(o object) bool {
		return o.str("name") == who.str("name") && o.str("domain_id") == domain
	}))
}

func (t *token) nameRoles(rq *request) {
	for _, id := range t.roles {
		t.names = append(t.names, rq.store().get("identity/roles", id).str("name"))
	}
}

// view is the token in Keystone's form.
func (t *token) view(rq *request) object {
	const layout = "2006-01-02T15:04:05.000000Z"
	user := rq.store().get("identity/users", t.user)
	shown := object{
		"methods": anys(t.method), "issued_at": t.issued.Format(layout), "expires_at": t.expires.Format(layout),
		"audit_ids": anys(t.id[:22]),
		"user": object{
			"id": t.user, "name": user.str("name"), "domain": rq.shortDomain(user.str("domain_id")),
			"password_expires_at": nil,
		},
	}
	roles := make([]any, 0, len(t.roles))
	for i, id := range t.roles {
		roles = append(roles, object{"id": id, "name": t.names[i]})
	}
	switch {
	case t.system:
		shown["system"] = object{"all": true}
	case t.project != "":
		project := rq.store().get("identity/projects", t.project)
		shown["project"] = object{
			"id": t.project, "name": project.str("name"), "domain": rq.shortDomain(project.str("domain_id")),
		}
		shown["is_domain"] = false
	case t.domain != "":
		shown["domain"] = rq.shortDomain(t.domain)
	default:
		return shown
	}
	shown["roles"] = roles
	shown["catalog"] = rq.catalog(t.project)
	return shown
}

func (rq *request) shortDomain(id string) object {
	return object{"id": id, "name": rq.store().get("identity/domains", id).str("name")}
}

// subject returns the token that the header X-Subject-Token names.
func (rq *request) subject() (*token, error) {
	t := rq.cloud.tokenOf(rq.Header.Get("X-Subject-Token"), rq.now)
	if t == nil {
		return nil, refuse(http.StatusNotFound, "HTTPNotFound", "Could not find token.")
	}
	return t, nil
}

func (s *Server) showToken(rq *request) (any, error) {
	t, err := rq.subject()
	if err != nil {
		return nil, err
	}
	return reply{
		status: http.StatusOK, body: object{"token": t.view(rq)}, header: map[string]string{"X-Subject-Token": t.id},
	}, nil
}

func (s *Server) revokeToken(rq *request) (any, error) {
	t, err := rq.subject()
	if err != nil {
		return nil, err
	}
	delete(s.tokens, t.id)
	return nil, nil
}
