package azure

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/pause"
)

// Answer is what ARM says about a resource.
type Answer struct {
	// Body is the resource as ARM returns it, or nil for an answer without a resource. Integers are
	// int64, other numbers float64.
	Body map[string]any
	// ETag is the ETag of Body; empty if the type has none.
	ETag string
	// Created says that the Put created the resource.
	Created bool
	// Operation is the operation that carries out the request after the answer; nil says that ARM
	// has carried out the request.
	Operation *Operation
	// After is the pause until the next Poll of the Operation, from the header Retry-After; zero
	// without Retry-After.
	After time.Duration
}

// longestPause bounds Retry-After: a Poll each hour costs little, and the header may be wrong.
const longestPause = time.Hour

// begun returns the [Answer] to a PUT or DELETE. The parameter owns reports whether an address is
// the client's own.
//
// The provisioningState in the body of a PUT overrides every header: ARM answers the update of a
// route table with an operation although the table is Succeeded. The body of a DELETE may have the
// provisioningState before the request.
func (m message) begun(op Operation, owns func(*url.URL) bool) (Answer, error) {
	answer := Answer{
		Body: m.body, ETag: m.etag(), Created: m.status == http.StatusCreated, After: retryAfter(m.header),
	}
	state, replaced := ProvisioningState(m.body), m.method != http.MethodDelete
	if replaced && IsFailed(state) {
		return Answer{}, m.failed(op, state)
	}
	if m.status != http.StatusNoContent && (!replaced || !isTerminal(state)) {
		op.Style, op.URL = m.style(owns)
	}
	if op.Style == "" {
		answer.After = 0
		return answer, nil
	}
	answer.Operation = &op
	return answer, nil
}

// style returns the [Style] of the operation of an answer, and the address to poll. style ignores
// an address of another host, since the client would send the credentials there: the client polls
// the resource instead.
func (m message) style(owns func(*url.URL) bool) (Style, string) {
	state := ProvisioningState(m.body)
	goesOn := m.status == http.StatusAccepted || (state != "" && !isTerminal(state))
	for _, one := range []struct {
		style  Style
		header string
		begins bool
	}{
		{AsyncOperation, "Azure-AsyncOperation", true},
		{Location, "Location", goesOn || m.status == http.StatusCreated},
	} {
		value := m.header.Get(one.header)
		if value == "" || !one.begins {
			continue
		}
		if address, err := url.Parse(value); err == nil && owns(address) {
			return one.style, value
		}
		return OfResource, ""
	}
	if goesOn {
		return OfResource, ""
	}
	return "", ""
}

// polled returns the [Answer] to a Poll.
func (m message) polled(op Operation, owns func(*url.URL) bool) (Answer, error) {
	switch op.Style {
	case AsyncOperation:
		return m.polledAsync(op)
	case Location:
		return m.polledLocation(op, owns)
	default:
		return m.polledResource(op)
	}
}

// polledAsync reads the status of an operation, such as {"status": "InProgress"}.
func (m message) polledAsync(op Operation) (Answer, error) {
	status, _ := lookUp(m.body, "status").(string)
	if status == "" && m.status == http.StatusAccepted {
		status = "InProgress"
	}
	if status == "" { // Some services answer with the resource at the end.
		status = ProvisioningState(m.body)
	}
	switch {
	case IsFailed(status):
		return Answer{}, m.failed(op, status)
	case status == "" || isTerminal(status):
		return Answer{}, nil
	}
	return Answer{Operation: &op, After: retryAfter(m.header)}, nil
}

// polledLocation reads the answer of the address in Location: 202 until the operation has ended.
// The next Poll uses the address in the header Location, which may change.
func (m message) polledLocation(op Operation, owns func(*url.URL) bool) (Answer, error) {
	if m.status != http.StatusAccepted {
		if state := ProvisioningState(m.body); IsFailed(state) && op.Method != http.MethodDelete {
			return Answer{}, m.failed(op, state)
		}
		return Answer{Body: m.body, ETag: m.etag()}, nil
	}
	if value := m.header.Get("Location"); value != "" {
		if address, err := url.Parse(value); err == nil && owns(address) {
			op.URL = value
		}
	}
	return Answer{Operation: &op, After: retryAfter(m.header)}, nil
}

// polledResource reads the provisioningState of the resource itself.
func (m message) polledResource(op Operation) (Answer, error) {
	state := ProvisioningState(m.body)
	switch {
	case IsFailed(state):
		return Answer{}, m.failed(op, state)
	case op.Method == http.MethodDelete && isTerminal(state):
		return Answer{}, &Error{
			Method: op.Method, Status: m.status, Code: notDeleted, Ended: true,
			Message: "the deletion has ended, and the resource is still there",
		}
	case op.Method == http.MethodDelete, state != "" && !isTerminal(state):
		return Answer{Operation: &op, After: retryAfter(m.header)}, nil
	}
	return Answer{Body: m.body, ETag: m.etag()}, nil
}

// failed returns the [Error] of an operation that failed.
func (m message) failed(op Operation, state string) error {
	e := m.refusal()
	e.Ended, e.Method = true, op.Method
	if e.Code == "" {
		e.Code = state
	}
	if e.Message == "" {
		e.Message = "the operation ended with status " + state
	}
	return e
}

// ProvisioningState returns properties.provisioningState in the body of a resource, such as
// Succeeded, or "".
func ProvisioningState(body map[string]any) string {
	properties, _ := lookUp(body, "properties").(map[string]any)
	state, _ := lookUp(properties, "provisioningState").(string)
	return state
}

func isTerminal(state string) bool { return strings.EqualFold(state, "Succeeded") || IsFailed(state) }

// IsFailed reports whether a provisioningState says that a change failed. Some services write
// Cancelled.
func IsFailed(state string) bool {
	return slices.ContainsFunc([]string{"Failed", "Canceled", "Cancelled"}, func(end string) bool {
		return strings.EqualFold(state, end)
	})
}

// retryAfter returns the pause in the header Retry-After, or 0.
func retryAfter(header http.Header) time.Duration { return pause.After(header, longestPause) }
