package emulator

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// operation carries out a request after its answer.
type operation struct {
	method, version string
	id              azure.ID
	flow            Flow
	ends            time.Time
	done            bool
	// failure is the refusal with which the operation ends; nil is success.
	failure *refusal
	// status and result are the addresses in Azure-AsyncOperation and Location, without the host,
	// or "".
	status, result string
}

// begin begins an operation for a resource. With Flow.Takes 0, the operation ends at once.
func (rq *request) begin(r *resource, flow Flow) *operation {
	takes := rq.takes(flow)
	op := &operation{
		method: rq.method, version: rq.version, id: r.id, flow: flow, failure: rq.fail, ends: rq.now.Add(takes),
	}
	rq.fail = nil
	op.status, op.result = rq.address(r, flow.Operation), rq.address(r, flow.Result)
	if op.flow.Style == Sync {
		op.status, op.result = "", ""
	}
	for _, address := range []string{op.status, op.result} {
		if address != "" {
			rq.operations[operationKey(address)] = op
		}
	}
	r.running = op
	if takes <= 0 {
		op.end(rq.Server)
		return op
	}
	rq.running = append(rq.running, op)
	return op
}

// takes returns how long a request takes after its answer: Options.BuildTime or Flow.Takes.
func (s *Server) takes(flow Flow) time.Duration {
	if flow.Takes > 0 && s.options.BuildTime != 0 {
		return max(s.options.BuildTime, 0)
	}
	return flow.Takes
}

// operationKey returns the key of an address in Server.operations.
func operationKey(address string) string {
	path, _, _ := strings.Cut(address, "?")
	return strings.ToLower(path)
}

// address returns the address of an operation from a pattern such as Flow.Operation.
func (rq *request) address(r *resource, pattern string) string {
	if pattern == "" {
		return ""
	}
	root, name := "", r.id.Name()
	if subscription := r.id.Subscription(); subscription != "" {
		root = "/subscriptions/" + subscription
	}
	if !strings.Contains(pattern, "{operation}") { // A group's deletion has one opaque address.
		name = base64.RawURLEncoding.EncodeToString([]byte(r.id.Key()))
	}
	address := strings.NewReplacer(
		"{root}", root, "{provider}", r.id.Provider(), "{location}", cmp.Or(rq.locationOf(r), "global"),
		"{id}", r.id.String(), "{name}", name, "{operation}", uuid.NewString(),
	).Replace(pattern)
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + "api-version=" + rq.version
}

// endDue ends the operations that are due, the earliest first, and calls deployment.advance for the
// deployments.
func (s *Server) endDue(now time.Time) {
	for changed := true; changed; {
		changed = s.endEarliest(now)
		for _, d := range slices.Clone(s.deployments) {
			changed = d.advance(s, now) || changed
		}
		s.deployments = slices.DeleteFunc(s.deployments, func(d *deployment) bool { return d.op.done })
	}
}

// endEarliest ends the operations that are due, and reports whether an operation was due.
func (s *Server) endEarliest(now time.Time) bool {
	var due []*operation
	s.running = slices.DeleteFunc(s.running, func(op *operation) bool {
		if now.Before(op.ends) {
			return false
		}
		due = append(due, op)
		return true
	})
	slices.SortStableFunc(due, func(a, b *operation) int { return a.ends.Compare(b.ends) })
	for _, op := range due {
		op.end(s)
	}
	return len(due) > 0
}

// mostEnded bounds the number of ended operations that clients can poll.
const mostEnded = 10000

// end ends an operation.
func (op *operation) end(s *Server) {
	op.done = true
	if r := s.store.get(op.id); r != nil && r.running == op { // It may have been removed and made again.
		op.settle(s, r)
	}
	for _, address := range []string{op.status, op.result} {
		if address != "" {
			s.ended = append(s.ended, operationKey(address))
		}
	}
	for len(s.ended) > mostEnded {
		if old := s.operations[s.ended[0]]; old == nil || old.done {
			delete(s.operations, s.ended[0])
		}
		s.ended = s.ended[1:]
	}
}

// settle applies the end of an operation to its resource.
func (op *operation) settle(s *Server, r *resource) {
	r.running = nil
	if isGroup(op.id) && op.method == http.MethodDelete && op.failure == nil {
		op.failure = s.blocked(r)
	}
	switch {
	case op.failure != nil && isGroup(op.id):
		r.state = "Succeeded"
	case op.failure != nil:
		r.state = "Failed"
	case op.method == http.MethodDelete:
		s.store.remove(r)
		if parent := s.store.get(op.id.Parent()); parent != nil && azure.IsChildType(op.id.Type(), parent.kind.Name) {
			s.store.touch(parent)
		}
		return
	default:
		r.state = "Succeeded"
	}
	s.store.touch(r)
}

// blocked returns the refusal ResourceGroupDeletionBlocked if a resource in another group uses a
// resource of the group. ARM would delete the other resources of the group first; the emulator
// keeps all resources.
func (s *Server) blocked(group *resource) *refusal {
	used := s.used(s.store.below(group))
	if used == nil {
		return nil
	}
	return &refusal{
		status: http.StatusConflict, code: "ResourceGroupDeletionBlocked", reason: Used,
		message: "Deletion of resource group '" + group.id.Name() + "' failed. " + used.message,
	}
}

// accepted returns the answer to a request that began an operation. If the operation has ended, the
// answer has the final body.
func (rq *request) accepted(op *operation, r *resource, created bool) reply {
	header := http.Header{}
	if op.status != "" {
		header.Set("Azure-AsyncOperation", rq.host+op.status)
	}
	if r != nil && r.kind.ETag == WeakETag && op.status != "" {
		header.Set("Azure-AsyncNotification", "Enabled")
	}
	if !op.done {
		setRetryAfter(header, rq.seconds(op.flow.RetryAfter))
	}
	status := http.StatusOK
	switch {
	case op.flow.Style == LocationOnly || op.flow.Style == AsyncLocation:
		header.Set("Location", rq.host+op.result)
		return reply{status: http.StatusAccepted, header: header}
	case op.method == http.MethodDelete && !op.done:
		return reply{status: http.StatusAccepted, header: header}
	case op.method == http.MethodDelete:
		return reply{status: status, header: header}
	case created:
		status = http.StatusCreated
	}
	return reply{status: status, header: header, body: rq.render(r)}
}

// seconds returns the header Retry-After for operations.
func (s *Server) seconds(observed int) int {
	if s.options.RetryAfter != 0 && observed != 0 {
		return s.options.RetryAfter
	}
	return observed
}

// poll answers the GET of an operation's address.
func (rq *request) poll(op *operation) reply {
	header := http.Header{}
	if !op.done {
		setRetryAfter(header, rq.seconds(op.flow.PollAfter))
	}
	if operationKey(op.status) == strings.ToLower(rq.path) {
		body := map[string]any{"status": "Succeeded"}
		switch {
		case !op.done:
			body["status"] = "InProgress"
		case op.failure != nil:
			body["status"] = "Failed"
			body["error"] = op.failure.body()["error"]
		}
		return reply{status: http.StatusOK, header: header, body: body}
	}
	switch {
	case !op.done:
		header.Set("Location", rq.host+op.result)
		return reply{status: http.StatusAccepted, header: header}
	case op.failure != nil:
		return op.failure.reply()
	}
	if r := rq.store.get(op.id); r != nil && op.method == http.MethodPut {
		rq.setETag(header, r)
		return reply{status: http.StatusOK, header: header, body: rq.render(r)}
	}
	return reply{status: http.StatusOK, header: header}
}
