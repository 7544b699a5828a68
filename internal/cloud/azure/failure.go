package azure

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kinship-dev/kinship/pkg/redact"
)

// maxMessage bounds the text of an error, in characters.
const maxMessage = 1024

// Error is a refusal of ARM, or the failure of an [Operation].
type Error struct {
	Method string
	// Status is the HTTP status; for a failed [Operation], the HTTP status of the Poll.
	Status int
	// Code is ARM's code of the error, such as ResourceGroupNotFound; empty if the answer has no
	// code.
	Code string
	// Details are the codes of the details, such as ReferencedResourceNotProvisioned.
	Details []string
	// Message is ARM's text with the texts of the details, at most 1024 characters.
	Message string
	// After is the pause in Retry-After; zero without Retry-After.
	After time.Duration
	// Gateway says that ARM itself refused the request, and not the service behind ARM.
	Gateway bool
	// Foreign says that the answer is not ARM's: its body is no JSON.
	Foreign bool
	// Ended says that the error is the failure of an [Operation].
	Ended bool
}

// Error implements error.
func (e *Error) Error() string {
	switch {
	case e.Code != "" && e.Message != "":
		return e.Code + ": " + e.Message
	case e.Code != "" || e.Message != "":
		return e.Code + e.Message
	default:
		return fmt.Sprintf("ARM answered %d %s", e.Status, http.StatusText(e.Status))
	}
}

// refusal reads the forms of errors that ARM and the services behind ARM have:
//
//	{"error": {"code": "C", "message": "M", "details": [{"code": "D"}]}}   also within the body of an operation
//	{"code": "C", "message": "M"}, {"Code": "C", "Message": "M"}, {"Message": "M"}
//	{"error": {"code": 409, "message": {"value": "M"}}}
//
// refusal does not quote an answer that is no JSON.
func (m message) refusal() *Error {
	e := &Error{
		Method: m.method, Status: m.status, After: retryAfter(m.header),
		Gateway: strings.EqualFold(m.header.Get("X-Ms-Failure-Cause"), "gateway"),
		Foreign: m.body == nil && m.size > 0,
	}
	inner := m.body
	for range 4 { // {"error": {"error": ...}} occurs.
		next, ok := lookUp(inner, "error").(map[string]any)
		if !ok {
			break
		}
		inner = next
	}
	e.Code = cmp.Or(textOf(lookUp(inner, "code")), m.header.Get("X-Ms-Error-Code"))
	if text, ok := lookUp(inner, "error").(string); ok && e.Code == "" { // as OAuth has it
		e.Code = text
	}
	e.Message = cmp.Or(textOf(lookUp(inner, "message")), textOf(lookUp(inner, "error_description")))
	e.addDetails(inner)
	e.Message = cut(steady(e.Message))
	e.Code = cut(e.Code)
	return e
}

// maxDetails bounds the details that addDetails reads.
const maxDetails = 16

// addDetails adds the codes of the details to Error.Details, and missing texts to Error.Message.
func (e *Error) addDetails(inner map[string]any) {
	details, _ := lookUp(inner, "details").([]any)
	for _, detail := range details[:min(len(details), maxDetails)] {
		one, _ := detail.(map[string]any)
		code, text := textOf(lookUp(one, "code")), textOf(lookUp(one, "message"))
		if code != "" && !slices.Contains(e.Details, code) {
			e.Details = append(e.Details, cut(code))
		}
		if text != "" && !strings.Contains(e.Message, text) {
			e.Message = strings.TrimPrefix(e.Message+" "+cmp.Or(code, "Detail")+": "+text, " ")
		}
	}
}

// lookUp returns the value of a key in any case; lookUp prefers the exact case.
func lookUp(from map[string]any, key string) any {
	if value, ok := from[key]; ok {
		return value
	}
	var found string
	for name := range from {
		if strings.EqualFold(name, key) && (found == "" || name < found) {
			found = name
		}
	}
	return from[found]
}

// textOf returns a value of an error as a text: a string, a number, or {"value": "text"}.
func textOf(value any) string {
	switch typed := value.(type) {
	case string:
		return typed
	case int64:
		return strconv.FormatInt(typed, 10)
	case float64, json.Number:
		return fmt.Sprint(typed)
	case map[string]any:
		text, _ := lookUp(typed, "value").(string)
		return text
	default:
		return ""
	}
}

// requestIDs are parts of ARM's texts that differ each time.
var (
	requestIDs = regexp.MustCompile(`(?i)\s*(\(` + anyGUID + `\)|` +
		`\b(request|correlation|tracking|activity|trace) ?id[:=]? *'?` + anyGUID + `'?)`)
)

const anyGUID = `[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// steady removes queries of addresses and requestIDs from a text, so that a condition changes only with the
// error. A condition must not show the signature in a query either.
func steady(text string) string {
	return strings.TrimSpace(requestIDs.ReplaceAllString(redact.Addresses(text), ""))
}

// quietError is an error of net/http or net/url without queries in its text: the query of an
// operation's address has a signature.
type quietError struct{ error }

// Error implements error.
func (e quietError) Error() string { return redact.Addresses(e.error.Error()) }

// Unwrap returns the wrapped error.
func (e quietError) Unwrap() error { return e.error }

func cut(text string) string {
	text = strings.ToValidUTF8(text, "�")
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}
