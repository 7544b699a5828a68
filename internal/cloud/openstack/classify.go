package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kinship-dev/kinship/pkg/redact"
)

// maxMessage bounds the part of an error that a condition shows, in characters.
const maxMessage = 1024

// Class is the meaning of an error for a reconciler, as [Classify] finds.
type Class int

const (
	// Retryable errors may pass: no answer, 5xx, 429. An unknown error is Retryable.
	Retryable Class = iota
	// NotFound is a 404, of the resource itself or of a resource that the request names.
	NotFound
	// Busy is a refusal that ends without a change of the request: a quota, a resource in use
	// or in the middle of a change, a role that is not assigned yet.
	Busy
	// Exists is a conflict with an existing resource. The conflict does not end by waiting, as
	// [Busy] does.
	Exists
	// Invalid is a refusal of the request's content.
	Invalid
	// Forbidden is a refusal of the caller.
	Forbidden
	// Unauthorized is a refusal of the credentials themselves.
	Unauthorized
)

// String returns the class's name for logs and metrics.
func (c Class) String() string {
	return [...]string{"retryable", "not-found", "busy", "exists", "invalid", "forbidden", "unauthorized"}[c]
}

// Failure is an error of a cloud, understood.
type Failure struct {
	Class Class
	// Status is the HTTP status, or 0 without an answer.
	Status int
	// Kind is the service's own name of the error, as in SecurityGroupRuleExists.
	Kind string
	// Message is OpenStack's text, at most 1024 characters.
	Message string
	// After is the pause that the cloud asks for by the header Retry-After; zero if the header is
	// missing.
	After time.Duration
	// Late says that the client (context.DeadlineExceeded) or a proxy (504) did not wait for the
	// answer: the cloud may still carry out the request.
	Late bool
}

// Classify returns the meaning of the error of a call by gophercloud. The error must not be nil.
func Classify(err error) Failure {
	if throttled, ok := errors.AsType[*throttledError](err); ok {
		return Failure{Status: http.StatusTooManyRequests, Message: cut(err.Error()), After: throttled.After}
	}
	answer, ok := answerOf(err)
	if !ok {
		return Failure{Class: withoutAnswer(err), Message: cut(unanswered(err)), Late: isTimeout(err)}
	}
	kind, message := explain(answer.Actual, answer.Body)
	if message == "" {
		message = http.StatusText(answer.Actual)
	}
	if login, ok := loginOf(err); ok {
		message = login.place() + ": " + message
	}
	return Failure{
		Class: classOf(answer.Actual, kind, message), Status: answer.Actual,
		Kind: kind, Message: cut(message), After: parseRetryAfter(answer.ResponseHeader),
		Late: answer.Actual == http.StatusGatewayTimeout,
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || (ok && timeout.Timeout())
}

// IsOutage reports whether the cloud itself fails: no answer in time, a failure of its own, or
// a request to back off. The error must not be nil.
func IsOutage(err error) bool {
	if _, much := errors.AsType[*TooMuchError](err); much || errors.Is(err, context.Canceled) {
		return false
	}
	f := Classify(err)
	return f.Class == Retryable &&
		(f.Status == 0 || f.Status == http.StatusTooManyRequests || f.Status >= http.StatusInternalServerError)
}

// IsNotFound reports whether err is an answer that something is not there.
func IsNotFound(err error) bool { return err != nil && Classify(err).Class == NotFound }

// answerOf finds the answer in an error. gophercloud returns the answer by value and by
// pointer, and hides it in two error types without Unwrap.
func answerOf(err error) (gophercloud.ErrUnexpectedResponseCode, bool) {
	if hidden, ok := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); ok {
		return answerOf(hidden.ErrOriginal)
	}
	if hidden, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return answerOf(hidden.ErrReauth)
	}
	if pointer, ok := errors.AsType[*gophercloud.ErrUnexpectedResponseCode](err); ok {
		return *pointer, true
	}
	return errors.AsType[gophercloud.ErrUnexpectedResponseCode](err)
}

// loginOf finds a failed login in an error, also in gophercloud's types without Unwrap.
func loginOf(err error) (*loginError, bool) {
	if hidden, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return loginOf(hidden.ErrReauth)
	}
	return errors.AsType[*loginError](err)
}

// withoutAnswer is for errors that never reached a server, or never came back.
func withoutAnswer(err error) Class {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Retryable
	}
	_, missing := errors.AsType[gophercloud.ErrMissingInput](err)
	_, invalid := errors.AsType[gophercloud.ErrInvalidInput](err)
	_, gone := errors.AsType[gophercloud.ErrResourceNotFound](err)
	_, forbidden := errors.AsType[*HostError](err)
	_, odd := errors.AsType[*PathError](err)
	switch {
	case missing, invalid, forbidden, odd:
		return Invalid
	case gone:
		return NotFound
	default:
		return Retryable
	}
}

func classOf(status int, kind, message string) Class {
	if isState(status, message) {
		return Busy
	}
	switch status {
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusForbidden, http.StatusRequestEntityTooLarge:
		// Nova says 403 and Cinder 413 when a quota is used up.
		if status == http.StatusRequestEntityTooLarge || strings.Contains(strings.ToLower(message), "quota") {
			return Busy
		}
		return Forbidden
	case http.StatusConflict:
		return conflict(kind, message)
	case http.StatusPreconditionFailed:
		return Busy // Another client changed the resource since the read.
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusTooEarly:
		return Retryable
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return Invalid
	}
	return Retryable
}

// conflict separates answers with code 409 that pass by waiting ([Busy]) from others ([Exists]).
// Neutron names its errors in NeutronError.type, Keystone only has duplicates, and the texts of
// Nova and Cinder have to be read.
func conflict(kind, message string) Class {
	text := strings.ToLower(message)
	switch {
	case strings.HasSuffix(kind, "Exists"), strings.Contains(text, "already exists"):
		return Exists
	case kind == "Conflict" && strings.Contains(text, "attempting to store"):
		return Exists
	default:
		return Busy
	}
}

// unanswered returns the text of a transport error. If the error quotes bytes of a server that does
// not speak HTTP, the text is replaced: the server may be any service that the operator reaches,
// and status.conditions must not show its bytes.
func unanswered(err error) string {
	if wrong, ok := errors.AsType[*url.Error](err); ok && strings.Contains(wrong.Err.Error(), "malformed") {
		return "no service of OpenStack: what it says is no HTTP"
	}
	return redact.Text(err.Error()) // The address of an image may be signed.
}

// explain reads errors in the forms of the services: NeutronError with a type, Keystone's error
// with a title, Nova's and Cinder's badRequest and similar, and Glance's WebOb as JSON or a
// page. No other text is quoted: a tenant who names any address as a cloud must not be able to
// read the answers of that address.
func explain(status int, body []byte) (kind, message string) {
	var envelope map[string]json.RawMessage
	if json.Unmarshal(body, &envelope) != nil {
		return "", page(status, body)
	}
	if kind, message, ok := webOb(status, body); ok {
		return kind, message
	}
	if len(envelope) != 1 {
		return "", ""
	}
	for name, text := range envelope {
		var inner struct {
			Type, Title, Message string
			Code                 int
		}
		if json.Unmarshal(text, &inner) != nil {
			break
		}
		switch {
		case name == "NeutronError" && inner.Type != "",
			name == "error" && inner.Code == status && inner.Title != "",
			slices.Contains(faults, name) && inner.Code == status:
			return first(inner.Type, inner.Title, name), inner.Message
		}
	}
	return "", ""
}

// faults are the names that Nova, Cinder and Manila have for errors, as in {"itemNotFound":
// {"code": 404}}.
var faults = []string{
	"badRequest", "unauthorized", "forbidden", "itemNotFound", "badMethod", "notAcceptable", "conflictingRequest",
	"overLimit", "badMediaType", "unprocessableEntity", "buildInProgress", "serverCapacityUnavailable",
	"notImplemented", "serviceUnavailable", "computeFault", "instanceFault", "volumeFault", "shareFault",
}

// webOb reads an error of WebOb in its JSON form.
func webOb(status int, body []byte) (kind, message string, ok bool) {
	var text struct{ Code, Title, Message *string }
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&text) != nil || text.Code == nil || text.Title == nil || text.Message == nil {
		return "", "", false
	}
	return *text.Title, withoutTags(*text.Message), *text.Code == titleOf(status)
}

// page reads an error of WebOb in its HTML form. Other pages look different.
func page(status int, body []byte) string {
	title := titleOf(status)
	text, ok := strings.CutPrefix(strings.Join(strings.Fields(string(body)), " "),
		"<html> <head> <title>"+title+"</title> </head> <body> <h1>"+title+"</h1> ")
	text, ended := strings.CutSuffix(text, "<br /><br /> </body> </html>")
	if !ok || !ended {
		return ""
	}
	return title + " " + withoutTags(text)
}

func titleOf(status int) string { return fmt.Sprintf("%d %s", status, http.StatusText(status)) }

var tags = regexp.MustCompile(`<[^>]*>`)

// withoutTags returns a text without tags.
func withoutTags(text string) string {
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(text, " "))), " ")
}

func cut(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}
