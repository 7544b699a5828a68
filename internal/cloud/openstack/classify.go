package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net"
	"net/http"
	"regexp"
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
		return Failure{Class: withoutAnswer(err), Message: cut(err.Error()), Late: isTimeout(err)}
	}
	kind, message := explain(answer.Body)
	if message == "" {
		message = http.StatusText(answer.Actual)
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

var tags = regexp.MustCompile(`(?s)<(title|head)>.*?</(title|head)>|<[^>]*>`)

// explain reads the error bodies of all services: NeutronError with a type,
// Keystone's error with a title, Nova's and Cinder's badRequest and the like, and
// the HTML page of Glance.
func explain(body []byte) (kind, message string) {
	var envelope map[string]json.RawMessage
	if json.Unmarshal(body, &envelope) != nil {
		text := html.UnescapeString(tags.ReplaceAllString(string(body), " "))
		return "", strings.Join(strings.Fields(text), " ")
	}
	for _, name := range sorted(envelope) {
		var inner struct{ Type, Title, Message string }
		if json.Unmarshal(envelope[name], &inner) == nil && inner.Message != "" {
			return first(inner.Type, inner.Title, name), inner.Message
		}
		var text string
		if json.Unmarshal(envelope[name], &text) == nil && text != "" {
			return name, text
		}
	}
	return "", ""
}

func cut(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}
