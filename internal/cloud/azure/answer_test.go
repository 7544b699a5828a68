package azure

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readMessageText reads an answer with a body.
func readMessageText(method string, response *http.Response, body string) (message, error) {
	response.Body = io.NopCloser(strings.NewReader(body))
	return readMessage(method, response)
}

// answerOf returns an answer with headers: names and values in turn.
func answerOf(t *testing.T, method string, status int, body string, headers ...string) message {
	t.Helper()
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	m, err := readMessageText(method, &http.Response{StatusCode: status, Header: header}, body)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func isOwn(address *url.URL) bool { return address.Host == "arm" }

// outcome is what follows from an answer, in short: the style and address of the operation and the time to the next
// poll, "done", or the code of the failure.
func outcome(answer Answer, err error) string {
	switch {
	case err != nil:
		return "failed " + Classify(err).Code
	case answer.Operation == nil && answer.Body == nil:
		return "done"
	case answer.Operation == nil:
		return "done with body"
	}
	text := string(answer.Operation.Style)
	if answer.Operation.URL != "" {
		text += " " + answer.Operation.URL
	}
	if answer.After > 0 {
		text += " after " + answer.After.String()
	}
	return text
}

// Bodies of the truth tables.
const (
	updating  = `{"properties": {"provisioningState": "Updating"}}`
	succeeded = `{"properties": {"provisioningState": "Succeeded"}}`
	failed    = `{"properties": {"provisioningState": "Failed"}}`
	stateless = `{"name": "x"}`
)

// TestBegun is the truth table of answers to PUT and DELETE.
func TestBegun(t *testing.T) {
	const async, location, after = "Azure-AsyncOperation", "Location", "Retry-After"
	for name, row := range map[string]struct {
		method  string
		status  int
		body    string
		headers []string
		want    string
	}{
		"network creates": {
			"PUT", 201, updating, []string{async, "https://arm/op", after, "3"}, "async https://arm/op after 3s",
		},
		"network updates":     {"PUT", 200, updating, []string{async, "https://arm/op"}, "async https://arm/op"},
		"state before header": {"PUT", 200, succeeded, []string{async, "https://arm/op", after, "3"}, "done with body"},
		"created, and done":   {"PUT", 201, succeeded, []string{location, "https://arm/x"}, "done with body"},
		"failed at once":      {"PUT", 200, failed, []string{async, "https://arm/op"}, "failed Failed"},
		"no state, async":     {"PUT", 200, stateless, []string{async, "https://arm/op"}, "async https://arm/op"},
		"group":               {"PUT", 201, succeeded, nil, "done with body"},
		"stateless":           {"PUT", 201, stateless, nil, "done with body"},
		"batch creates": {
			"PUT", 202, "", []string{location, "https://arm/r", after, "15"}, "location https://arm/r after 15s",
		},
		"created, location":    {"PUT", 201, updating, []string{location, "https://arm/r"}, "location https://arm/r"},
		"location of a result": {"PUT", 200, stateless, []string{location, "https://arm/r"}, "done with body"},
		"both": {
			"DELETE", 202, "",
			[]string{async, "https://arm/op", location, "https://arm/r", after, "10"},
			"async https://arm/op after 10s",
		},
		"group is deleted": {
			"DELETE", 202, "", []string{location, "https://arm/r", after, "15"}, "location https://arm/r after 15s",
		},
		"deleted":              {"DELETE", 200, "", nil, "done"},
		"deleted, no content":  {"DELETE", 204, "", []string{location, "https://arm/r"}, "done"},
		"deletion of a failed": {"DELETE", 202, failed, []string{location, "https://arm/r"}, "location https://arm/r"},
		"the last body":        {"DELETE", 200, succeeded, nil, "done with body"},
		"being deleted":        {"DELETE", 200, `{"properties": {"provisioningState": "Deleting"}}`, nil, "resource"},
		"no header":            {"PUT", 202, "", nil, "resource"},
		"no header, deletion":  {"DELETE", 202, "", []string{after, "7"}, "resource after 7s"},
		"state alone":          {"PUT", 200, updating, nil, "resource"},
		"another host":         {"PUT", 201, updating, []string{async, "https://evil/op"}, "resource"},
		"another host, both": {
			"DELETE", 202, "", []string{async, "https://evil/op", location, "https://arm/r"}, "resource",
		},
		"no address": {"DELETE", 202, "", []string{location, "://"}, "resource"},
	} {
		m := answerOf(t, row.method, row.status, row.body, row.headers...)
		got := outcome(m.begun(Operation{Method: row.method}, isOwn))
		if got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
}

// TestPolled is the truth table of answers to polls.
func TestPolled(t *testing.T) {
	const status, location, after = `{"status": "%"}`, "Location", "Retry-After"
	is := func(s string) string { return strings.ReplaceAll(status, "%", s) }
	for name, row := range map[string]struct {
		style   Style
		method  string
		status  int
		body    string
		headers []string
		want    string
	}{
		"runs": {
			AsyncOperation, "PUT", 200, is("InProgress"), []string{after, "61"}, "async https://arm/1 after 1m1s",
		},
		"any other word":      {AsyncOperation, "PUT", 200, is("Queued"), nil, "async https://arm/1"},
		"no word":             {AsyncOperation, "PUT", 202, "", nil, "async https://arm/1"},
		"succeeded":           {AsyncOperation, "PUT", 200, is("Succeeded"), nil, "done"},
		"in lower case":       {AsyncOperation, "PUT", 200, is("succeeded"), nil, "done"},
		"the resource":        {AsyncOperation, "PUT", 200, succeeded, nil, "done"},
		"the resource, early": {AsyncOperation, "PUT", 200, updating, nil, "async https://arm/1"},
		"no content":          {AsyncOperation, "DELETE", 204, "", nil, "done"},
		"failed":              {AsyncOperation, "PUT", 200, `{"status": "Failed", "error": {"code": "C"}}`, nil, "failed C"},
		"failed, no error":    {AsyncOperation, "PUT", 200, is("Failed"), nil, "failed Failed"},
		"canceled":            {AsyncOperation, "DELETE", 200, is("Canceled"), nil, "failed Canceled"},
		"location runs": {
			Location, "PUT", 202, "", []string{location, "https://arm/2", after, "15"}, "location https://arm/2 after 15s",
		},
		"the same location":   {Location, "PUT", 202, "", nil, "location https://arm/1"},
		"another host":        {Location, "PUT", 202, "", []string{location, "https://evil/2"}, "location https://arm/1"},
		"location ends":       {Location, "PUT", 200, succeeded, nil, "done with body"},
		"location fails":      {Location, "PUT", 200, failed, nil, "failed Failed"},
		"location is deleted": {Location, "DELETE", 200, "", nil, "done"},
		"resource runs":       {OfResource, "PUT", 200, updating, nil, "resource https://arm/1"},
		"resource ends":       {OfResource, "PUT", 200, succeeded, nil, "done with body"},
		"resource fails":      {OfResource, "PUT", 200, failed, nil, "failed Failed"},
		"resource, stateless": {OfResource, "PUT", 200, stateless, nil, "done with body"},
		"being deleted": {
			OfResource, "DELETE", 200, `{"properties": {"provisioningState": "Deleting"}}`, nil, "resource https://arm/1",
		},
		"perhaps deleted": {OfResource, "DELETE", 200, stateless, nil, "resource https://arm/1"},
		"still there":     {OfResource, "DELETE", 200, succeeded, nil, "failed NotDeleted"},
		"deletion failed": {OfResource, "DELETE", 200, failed, nil, "failed Failed"},
	} {
		m := answerOf(t, "GET", row.status, row.body, row.headers...)
		op := Operation{Style: row.style, Method: row.method, URL: "https://arm/1"}
		answer, err := m.polled(op, isOwn)
		if got := outcome(answer, err); got != row.want {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
		if err != nil && !Classify(err).Ended {
			t.Errorf("%s: the failure is not that of the operation", name)
		}
	}
}

// TestFailuresOfOperations has the class of a failed operation follow from the method that began the operation.
func TestFailuresOfOperations(t *testing.T) {
	for _, row := range []struct {
		method, code string
		want         Class
	}{
		{http.MethodPut, "InvalidRequestContent", Final},
		{http.MethodDelete, "InvalidRequestContent", RetrySlowly},
		{http.MethodPut, "NotFound", AwaitReference},
		{http.MethodDelete, "CannotDeleteResource", InUse},
	} {
		m := answerOf(t, http.MethodGet, 200, `{"status": "Failed", "error": {"code": "`+row.code+`"}}`)
		_, err := m.polled(Operation{Style: AsyncOperation, Method: row.method}, isOwn)
		if f := Classify(err); f.Class != row.want || !f.Ended {
			t.Errorf("%s %s: %+v", row.method, row.code, f)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "x": 0, "1e12": longestPause, "NaN": 0,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0, time.Now().Add(48 * time.Hour).UTC().Format(http.TimeFormat): longestPause,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	op := Operation{
		Style: AsyncOperation, URL: "https://arm/op?c=" + strings.Repeat("x", 4000), Method: http.MethodPut,
		ID: mustParse(t, network), Version: "2020-03-01",
	}
	same := cmp.Comparer(func(a, b ID) bool { return a.Equal(b) })
	for _, row := range []struct {
		most int
		want Operation
	}{{8000, op}, {4096, Operation{Style: OfResource, Method: op.Method, ID: op.ID, Version: op.Version}}} {
		token, err := op.Token(row.most)
		if err != nil || len(token) > row.most {
			t.Fatalf("%d bytes of %d: %v", len(token), row.most, err)
		}
		got, err := ParseOperation(token)
		if diff := cmp.Diff(row.want, got, same); diff != "" || err != nil {
			t.Errorf("%d bytes: %v (-want, +got): %s", row.most, err, diff)
		}
	}
	if token, err := op.Token(20); err == nil {
		t.Errorf("a token of 20 bytes: %s", token)
	}
	for _, token := range []string{
		``, `{}`, `[]`, `{"style": "async", "url": "https://arm/op", "method": "POST", "id": "/", "apiVersion": "v"}`,
		`{"style": "async", "url": "https://arm/op", "method": "PUT", "id": "/", "apiVersion": "v"}`,
		`{"style": "async", "method": "PUT", "id": "` + network + `", "apiVersion": "v"}`,
		`{"style": "resource", "url": "https://arm/op", "method": "PUT", "id": "` + network + `", "apiVersion": "v"}`,
		`{"style": "x", "url": "https://arm/op", "method": "PUT", "id": "` + network + `", "apiVersion": "v"}`,
		`{"style": "resource", "method": "PUT", "id": "` + network + `"}`,
		`{"style": "resource", "method": "PUT", "id": "` + network + `?", "apiVersion": "v"}`,
	} {
		if op, err := ParseOperation(token); err == nil {
			t.Errorf("%s is read as %v", token, op)
		}
	}
}

// FuzzAnswers reads any answer: it is done, goes on with an operation that can be polled, or failed.
func FuzzAnswers(f *testing.F) {
	f.Add(200, `{"status": "InProgress"}`, "https://arm/op", "3")
	f.Add(202, "", "https://evil/op", "x")
	f.Add(404, `{"error": {"code": 5, "details": [1, {"code": []}]}}`, "", "")
	f.Fuzz(func(t *testing.T, status int, body, address, after string) {
		for _, style := range []Style{AsyncOperation, Location, OfResource} {
			header := http.Header{"Azure-Asyncoperation": {address}, "Location": {address}, "Retry-After": {after}}
			m, err := readMessageText("GET", &http.Response{StatusCode: status, Header: header}, body)
			if err != nil {
				if f := Classify(err); f.After < 0 || f.After > longestPause {
					t.Errorf("after %s", f.After)
				}
				return
			}
			answer, err := m.polled(Operation{Style: style, URL: "https://arm/1"}, isOwn)
			if err == nil && answer.Operation != nil && answer.Operation.URL != "https://arm/1" &&
				!strings.HasPrefix(strings.ToLower(answer.Operation.URL), "https://arm/") {
				if u, err := url.Parse(answer.Operation.URL); err != nil || u.Host != "arm" {
					t.Errorf("the next poll leads to %s", answer.Operation.URL)
				}
			}
		}
	})
}
