package emulator

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/emulated"
)

// maxRequest bounds a body, as ARM does.
const maxRequest = 4 << 20

// request is a request while [Server] handles the request. Server.mu is locked.
type request struct {
	*Server

	method, version string
	// host begins the addresses in answers, such as http://127.0.0.1:8443.
	host string
	// path is the URL path without a slash at the end, and query the URL query.
	path   string
	query  url.Values
	header http.Header
	// id is the id of the resource or, with list, of a resource in the list.
	id   azure.ID
	list bool
	body map[string]any
	// parameters are those of the deployment in the body, by their names.
	parameters map[string]any
	now        time.Time
	// fail is the failure that [Fault] orders for the operation.
	fail *refusal
}

// reply is an answer.
type reply struct {
	status  int
	header  http.Header
	body    map[string]any
	refusal *refusal
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_emulator/") {
		s.knobs.ServeHTTP(w, r)
		return
	}
	rq, refused := s.read(r)
	call := rq.call()
	fault := s.countCall(call, rq.id)
	if !s.applyFault(fault, w, r, call, rq.id) {
		return
	}
	rq.fail = fault.failure()
	answer := rq.answer(refused)
	s.countRefusal(call, rq.id, answer)
	if fault.Reset == AfterExecution {
		emulated.Drop(w)
		return
	}
	write(w, answer)
}

// read reads a request into memory.
func (s *Server) read(r *http.Request) (*request, *refusal) {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	rq := &request{
		Server: s, method: r.Method, host: scheme + r.Host, path: strings.TrimRight(r.URL.Path, "/"), header: r.Header,
		query: r.URL.Query(), version: r.URL.Query().Get("api-version"),
	}
	rq.resolve()
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	switch {
	case err != nil:
		return rq, malformed("InvalidRequestContent", "The request content could not be read.")
	case len(raw) > maxRequest:
		refused := malformed("RequestContentTooLarge", "The request content is larger than %d bytes.", maxRequest)
		refused.status = http.StatusRequestEntityTooLarge
		return rq, refused
	case r.Method == http.MethodPut && (utiljson.Unmarshal(raw, &rq.body) != nil || rq.body == nil):
		return rq, malformed("InvalidRequestContent", "The request content was invalid and could not be deserialized.")
	}
	return rq, nil
}

// resolve finds the resource or the list that a path names.
func (rq *request) resolve() {
	id, err := azure.ParseID(rq.path)
	if err == nil {
		rq.id = id
		return
	}
	path := rq.path
	if in, ok := strings.CutSuffix(path, "/resources"); ok { // All resources of a group or subscription.
		if id, err := azure.ParseID(in); err == nil {
			rq.id, rq.list = id, true
			return
		}
	}
	if id, err = azure.ParseID(path + "/x"); err == nil {
		rq.id, rq.list = id, true
	}
}

var apiVersion = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-[a-zA-Z][a-zA-Z0-9.-]*)?$`)

// answer handles a request with Server.mu locked. If read refused the request, answer returns that
// refusal.
func (rq *request) answer(unread *refusal) reply {
	if unread != nil {
		return unread.reply()
	}
	rq.mu.Lock()
	defer rq.mu.Unlock()
	rq.now = rq.options.Clock()
	rq.endDue(rq.now)
	if op, ok := rq.operations[strings.ToLower(rq.path)]; ok && rq.method == http.MethodGet {
		return rq.poll(op)
	}
	if refused := rq.check(); refused != nil {
		return refused.reply()
	}
	switch {
	case rq.list && rq.method == http.MethodGet:
		return rq.listed()
	case rq.list:
	case rq.method == http.MethodGet:
		return rq.get()
	case rq.method == http.MethodHead:
		answer := rq.get()
		if answer.status == http.StatusOK {
			answer.status = http.StatusNoContent
		}
		answer.body = nil
		return answer
	case rq.method == http.MethodPut && isDeployment(rq.id):
		return rq.deploy()
	case rq.method == http.MethodPut:
		return rq.put()
	case rq.method == http.MethodDelete:
		return rq.delete()
	}
	refused := malformed("MethodNotAllowed", "The requested resource does not support http method '%s'.", rq.method)
	refused.status = http.StatusMethodNotAllowed
	return refused.reply()
}

// check refuses requests that ARM's gateway refuses regardless of resources.
func (rq *request) check() *refusal {
	switch {
	case rq.version == "":
		return malformed("MissingApiVersionParameter",
			"The api-version query parameter (?api-version=) is required for all requests.")
	case !apiVersion.MatchString(rq.version):
		return malformed("InvalidApiVersionParameter", "The api-version '%s' is invalid.", rq.version)
	case rq.id.IsTenant():
		refused := malformed("InvalidRequestUri", "The path '%s' names no resource.", rq.path)
		if _, err := azure.ParseID(rq.path); err != nil {
			refused.message += " " + err.Error()
		}
		if rq.method == http.MethodGet { // It may be the address of an operation that is forgotten.
			refused.status, refused.code = http.StatusNotFound, "NotFound"
		}
		return refused
	}
	subscription := rq.id.Subscription()
	if len(rq.options.Subscriptions) > 0 && subscription != "" && !slices.ContainsFunc(rq.options.Subscriptions,
		func(one string) bool { return strings.EqualFold(one, subscription) }) {
		refused := malformed("SubscriptionNotFound", "The subscription '%s' could not be found.", subscription)
		refused.status = http.StatusNotFound
		return refused
	}
	if rq.list {
		return nil
	}
	return checkKind(rq.types, rq.id, rq.version)
}

// checkKind refuses a type or an api-version that ARM does not have.
func checkKind(types Table, id azure.ID, version string) *refusal {
	if isPlace(id) {
		return nil
	}
	kind, ok := types.Type(id.Type())
	provider, name, _ := strings.Cut(id.Type(), "/")
	if !ok {
		refused := malformed("InvalidResourceType",
			"The resource type '%s' could not be found in the namespace '%s' for api version '%s'.", name, provider, version)
		refused.status = http.StatusNotFound
		return refused
	}
	if len(kind.Versions) > 0 && !slices.Contains(kind.Versions, version) {
		return malformed("NoRegisteredProviderFound",
			"No registered resource provider found for API version '%s' for type '%s'. The supported api-versions are '%s'.",
			version, name, strings.Join(kind.Versions, ", "))
	}
	if len(kind.Scopes) > 0 && !slices.Contains(kind.Scopes, id.Scope()) {
		return malformed("InvalidResourceScope", "Resources of type '%s' can't be in the scope of a %s.", id.Type(),
			id.Scope())
	}
	return nil
}

// isPlace reports whether an id is the tenant, a subscription or a management group. A place exists
// without a PUT.
func isPlace(id azure.ID) bool {
	return id.IsTenant() || strings.EqualFold(id.Type(), "Microsoft.Resources/subscriptions") ||
		strings.EqualFold(id.Type(), "Microsoft.Management/managementGroups")
}

// call returns the [Call] of a request for the counters.
func (rq *request) call() Call {
	switch {
	case rq.id.IsTenant() || rq.isPoll():
		return Call{rq.method, pollCall}
	default:
		return Call{rq.method, rq.id.Type()}
	}
}

// isPoll reports whether a path is the address of an operation.
func (rq *request) isPoll() bool {
	rq.mu.Lock()
	defer rq.mu.Unlock()
	_, ok := rq.operations[strings.ToLower(rq.path)]
	return ok && rq.method == http.MethodGet
}

func write(w http.ResponseWriter, answer reply) {
	maps.Copy(w.Header(), answer.header)
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Ms-Request-Id", uuid.NewString())
	if answer.body == nil {
		h.Set("Content-Length", "0")
		w.WriteHeader(answer.status)
		return
	}
	text, err := json.Marshal(answer.body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(answer.status)
	_, _ = w.Write(text) // A client that has gone is its own business.
}

func setRetryAfter(header http.Header, seconds int) {
	if seconds > 0 {
		header.Set("Retry-After", strconv.Itoa(seconds))
	}
}
