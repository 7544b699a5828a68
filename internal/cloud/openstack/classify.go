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
)

// maxMessage is what of an error reaches a condition, in characters.
const maxMessage = 1024

// Class is what an error means to a reconciler.
type Class int

const (
	// Retryable is everything that may be gone at the next try: no answer, 5xx,
	// 429. It is also what is unknown.
	Retryable Class = iota
	// NotFound is a 404: of the resource itself, or of one that a request names.
	NotFound
	// Busy is a refusal that somebody else can end without a change of the request: a
	// quota, a resource in use or in the middle of a change, a role that is not assigned yet.
	Busy
	// Exists is a conflict with a resource that is there already. It doesn't pass
	// by waiting.
	Exists
	// Invalid is refused for what the request says, and will be again.
	Invalid
	// Forbidden is refused for who asks.
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
	// After is when the cloud wants to be asked again, if it said.
	After time.Duration
	// Late says that the answer was not waited for, by us or by somebody in between: what
	// was asked may be carried out still.
	Late bool
}

// Classify says what an error of a call means. It must not be nil.
func Classify(err error) Failure {
	if throttled, ok := errors.AsType[*ThrottledError](err); ok {
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

// IsOutage reports whether an error says that a cloud itself fails: it gives no answer in
// time, a failure of its own, or asks to be left alone. It must not be nil.
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

// answerOf finds the answer in an error. gophercloud returns it by value and by
// pointer, and hides it in two errors of its own that don't unwrap.
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

// loginOf finds a failed login in an error, also where gophercloud hides it.
func loginOf(err error) (*LoginError, bool) {
	if hidden, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		return loginOf(hidden.ErrReauth)
	}
	return errors.AsType[*LoginError](err)
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
	switch {
	case missing, invalid, forbidden:
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
		return Busy // Somebody changed it since we read it.
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusTooEarly:
		return Retryable
	}
	if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
		return Invalid
	}
	return Retryable
}

// conflict parts what passes by waiting from what doesn't. Neutron names its
// errors; Keystone knows duplicates only; Nova and Cinder have to be read.
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

// unanswered returns the text of a transport error. The text is replaced if it quotes bytes of
// a server that does not speak HTTP: that may be any service that the operator reaches, and
// conditions must not show its bytes.
func unanswered(err error) string {
	if wrong, ok := errors.AsType[*url.Error](err); ok && strings.Contains(wrong.Err.Error(), "malformed") {
		return "no service of OpenStack: what it says is no HTTP"
	}
	return err.Error()
}

// explain reads the errors of all services in the forms that are theirs: NeutronError with a
// type, Keystone's error with a title, Nova's and Cinder's badRequest and the like, and what
// Glance has of WebOb, as JSON or a page. Nothing else is quoted: who makes a cloud of an
// address has the operator read what is there, and must not read it himself.
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

// faults are the names that Nova, Cinder and Manila have for errors.
var faults = []string{
	"badRequest", "unauthorized", "forbidden", "itemNotFound", "badMethod", "notAcceptable", "conflictingRequest",
	"overLimit", "badMediaType", "unprocessableEntity", "buildInProgress", "serverCapacityUnavailable",
	"notImplemented", "serviceUnavailable", "computeFault", "instanceFault", "volumeFault", "shareFault",
}

// webOb reads an error as WebOb writes it as JSON.
func webOb(status int, body []byte) (kind, message string, ok bool) {
	var text struct{ Code, Title, Message *string }
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&text) != nil || text.Code == nil || text.Title == nil || text.Message == nil {
		return "", "", false
	}
	return *text.Title, withoutTags(*text.Message), *text.Code == titleOf(status)
}

// page reads an error as WebOb writes it as a page. Those of others look different.
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
