package emulator

import (
	"fmt"
	"net/http"
)

// Reason is why the [Server] refused a request, for [Server.Refused].
type Reason string

const (
	// NoOwner says that the parent or the resource group is missing or not provisioned.
	NoOwner Reason = "owner"
	// NoReference says that a referenced resource is missing or not provisioned.
	NoReference Reason = "reference"
	// Used says that the resource is in use or has nested resources.
	Used Reason = "in-use"
	// Busy says that another operation is running.
	Busy Reason = "busy"
	// Absent says that the resource is missing. Absent also counts a DELETE of a missing resource,
	// which ARM answers with 204.
	Absent Reason = "absent"
	// Malformed says that the request itself is wrong.
	Malformed Reason = "malformed"
	// Ordered says that a [Fault] refused the request.
	Ordered Reason = "ordered"
)

// refusal is an answer that refuses a request, in ARM's form.
type refusal struct {
	status        int
	code, message string
	reason        Reason
	// cause is the header X-Ms-Failure-Cause: gateway for ARM's own refusals, service for others,
	// or "".
	cause string
	// target is the id in the body. With nil details, the body has no details.
	target     string
	details    []any
	retryAfter int
}

const (
	gateway = "gateway"
	service = "service"
)

func (r *refusal) body() map[string]any {
	inner := map[string]any{"code": r.code, "message": r.message}
	if r.target != "" {
		inner["target"] = r.target
	}
	if r.details != nil {
		inner["details"] = r.details
	}
	return map[string]any{"error": inner}
}

// reply returns the refusal as an answer.
func (r *refusal) reply() reply {
	header := http.Header{}
	if r.cause != "" {
		header.Set("X-Ms-Failure-Cause", r.cause)
	}
	setRetryAfter(header, r.retryAfter)
	return reply{status: r.status, header: header, body: r.body(), refusal: r}
}

// malformed refuses a request for its own content, with status 400.
func malformed(code, format string, args ...any) *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: code, reason: Malformed, cause: gateway, message: fmt.Sprintf(format, args...),
	}
}

// conflict refuses a request with status 409.
func conflict(reason Reason, code, format string, args ...any) *refusal {
	return &refusal{status: http.StatusConflict, code: code, reason: reason, message: fmt.Sprintf(format, args...)}
}

// retryable is the refusal of Microsoft.Network, with status 429, because of another operation or
// of a resource that is not provisioned.
func retryable(reason Reason, detail, cause string, retryAfter int, format string, args ...any) *refusal {
	return &refusal{
		status: http.StatusTooManyRequests, code: "RetryableError", message: "A retryable error occurred.",
		reason: reason, cause: cause, retryAfter: retryAfter,
		details: []any{map[string]any{"code": detail, "message": fmt.Sprintf(format, args...)}},
	}
}

// noGroup says that a resource group is missing (ResourceGroupNotFound).
func noGroup(name string) *refusal {
	return &refusal{
		status: http.StatusNotFound, code: "ResourceGroupNotFound", cause: gateway,
		message: fmt.Sprintf("Resource group '%s' could not be found.", name),
	}
}

// noResource says that a resource is missing, by its type and names (ResourceNotFound).
func noResource(path, group string) *refusal {
	message := fmt.Sprintf("The Resource '%s' was not found.", path)
	if group != "" {
		message = fmt.Sprintf("The Resource '%s' under resource group '%s' was not found.", path, group)
	}
	return &refusal{status: http.StatusNotFound, code: "ResourceNotFound", cause: gateway, message: message}
}

// noParent says that the parent of a resource is missing (ParentResourceNotFound). The verb is
// read, write or delete.
func noParent(verb, types, parent string) *refusal {
	return &refusal{
		status: http.StatusNotFound, code: "ParentResourceNotFound", cause: gateway, message: fmt.Sprintf(
			"Failed to perform '%s' on resource(s) of type '%s', because the parent resource '%s' could not be found.",
			verb, types, parent),
	}
}
