package azure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/shareddata"
)

// TestClasses is the truth table of refusals.
func TestClasses(t *testing.T) {
	const get, put, del = http.MethodGet, http.MethodPut, http.MethodDelete
	for _, row := range []struct {
		method string
		status int
		codes  string // the code, then those of the details
		want   Class
	}{
		// The resource itself is missing.
		{get, 404, "ResourceNotFound", Missing},
		{get, 404, "ResourceGroupNotFound", Missing},
		{get, 404, "ParentResourceNotFound", Missing},
		{get, 404, "RoleAssignmentNotFound", Missing},
		{get, 404, "", Missing},
		{get, 410, "Gone", Missing},
		{del, 404, "ResourceGroupNotFound", Missing},
		{del, 404, "AuthorizationGatewayNotFoundException", Missing},
		// A 404 about something else does not say that the resource is missing.
		{get, 404, "gateway SubscriptionNotFound", RetrySlowly},
		{del, 404, "gateway SubscriptionNotFound", RetrySlowly},
		{get, 404, "SubscriptionNotFound", Missing}, // that of a topic
		{get, 404, "foreign", RetrySlowly},
		{del, 404, "foreign", RetrySlowly},
		{get, 404, "InvalidResourceType", Final},
		{del, 404, "InvalidResourceType", RetrySlowly},
		// What the request names is missing or not provisioned.
		{put, 404, "ResourceGroupNotFound", AwaitReference},
		{put, 404, "ParentResourceNotFound", AwaitReference},
		{put, 404, "NotFound", AwaitReference},
		{put, 404, "", AwaitReference},
		{put, 400, "InvalidResourceReference", AwaitReference},
		{put, 400, "NetworkSecurityGroupNotFoundForFlowLog", AwaitReference},
		{put, 400, "StorageProvisioningStateNotSucceeded", AwaitReference},
		{put, 409, "StorageAccountIsNotProvisioned", AwaitReference},
		{put, 409, "ResourceGroupBeingDeleted", AwaitReference},
		{put, 429, "RetryableError ReferencedResourceNotProvisioned", AwaitReference},
		{put, 409, "DeploymentFailed InvalidResourceReference", AwaitReference},
		// It passes by itself.
		{put, 429, "RetryableError RetryableErrorDueToAnotherOperation", RetrySoon},
		{put, 429, "TooManyRequests", RetrySoon},
		{get, 429, "", RetrySoon},
		{put, 409, "AnotherOperationInProgress", RetrySoon},
		{put, 409, "Conflict", RetrySoon},
		{put, 400, "Conflict", RetrySoon},
		{put, 409, "SomethingElse", RetrySoon},
		{put, 400, "PrincipalNotFound", RetrySoon},
		{put, 400, "FailedIdentityOperation", RetrySoon},
		{put, 412, "PreconditionFailed", RetrySoon},
		{put, 408, "", RetrySoon},
		{get, 500, "InternalServerError", RetrySoon},
		{get, 503, "foreign", RetrySoon},
		{put, 504, "GatewayTimeout", RetrySoon},
		{del, 429, "RetryableError RetryableErrorDueToAnotherOperation", RetrySoon},
		// A person acts elsewhere.
		{put, 401, "InvalidAuthenticationToken", RetrySlowly},
		{put, 403, "AuthorizationFailed", RetrySlowly},
		{put, 403, "LinkedAuthorizationFailed", RetrySlowly},
		{put, 403, "RequestDisallowedByPolicy", RetrySlowly},
		{put, 409, "MissingSubscriptionRegistration", RetrySlowly},
		{put, 400, "NoRegisteredProviderFound", RetrySlowly},
		{put, 409, "ScopeLocked", RetrySlowly},
		{del, 409, "ScopeLocked", RetrySlowly},
		{put, 409, "SkuNotAvailable", RetrySlowly},
		{put, 409, "AllocationFailed", RetrySlowly},
		{put, 409, "OperationNotAllowed", RetrySlowly},
		{put, 409, "QuotaExceeded", RetrySlowly},
		{put, 409, "StorageAccountAlreadyTaken", RetrySlowly},
		{put, 409, "InvalidResourceGroupLocation", RetrySlowly},
		{put, 404, "gateway SubscriptionNotFound", RetrySlowly},
		{put, 400, "PlatformImageNotFound", RetrySlowly},
		{put, 400, "BadRequest", RetrySlowly},
		{put, 400, "NobodyKnowsThisCode", RetrySlowly},
		{put, 400, "", RetrySlowly},
		{put, 405, "", RetrySlowly},
		{put, 400, "InUseSubnetCannotBeDeleted", RetrySlowly}, // It was left out of a network's body.
		// Only another request passes.
		{put, 400, "InvalidRequestContent", Final},
		{put, 400, "InvalidValuesForRequestParameters", Final},
		{put, 400, "LocationRequired", Final},
		{put, 400, "AccountNameInvalid", Final},
		{put, 400, "InvalidTemplate", Final},
		{put, 409, "InvalidResourceLocation", Final},
		{put, 413, "", Final},
		{put, 409, "DeploymentFailed InvalidRequestContent", Final},
		// No DELETE is final.
		{del, 400, "InvalidRequestContent", RetrySlowly},
		{del, 400, "BadRequest", RetrySlowly},
		{del, 409, "ResourceGroupBeingDeleted", RetrySoon},
		// Something uses the resource.
		{del, 400, "InUseSubnetCannotBeDeleted", InUse},
		{del, 400, "PublicIPAddressCannotBeDeleted", InUse},
		{del, 400, "NicInUse", InUse},
		{del, 409, "CannotDeleteResource", InUse},
		{del, 409, "ResourceGroupDeletionBlocked", InUse},
	} {
		e := &Error{Method: row.method, Status: row.status}
		codes := row.codes
		codes, e.Gateway = strings.CutPrefix(codes, "gateway ")
		if e.Foreign = codes == "foreign"; !e.Foreign {
			all := strings.Fields(codes + " ")
			if len(all) > 0 {
				e.Code, e.Details = all[0], all[1:]
			}
		}
		if got := Classify(fmt.Errorf("wrapped: %w", e)).Class; got != row.want {
			t.Errorf("%s %d %s: %s, want %s", row.method, row.status, row.codes, got, row.want)
		}
	}
}

type timeoutError struct{ error }

func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// TestErrorsWithoutAnswer is the truth table of requests that were not answered by ARM.
func TestErrorsWithoutAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		want Failure
	}{
		"reset":             {errors.New("connection reset"), Failure{Outage: true}},
		"timeout":           {&url.Error{Op: "Put", Err: timeoutError{errors.New("x")}}, Failure{Outage: true, Late: true}},
		"deadline":          {context.DeadlineExceeded, Failure{Outage: true, Late: true}},
		"the operator ends": {context.Canceled, Failure{}},
		"too much":          {&url.Error{Op: "Get", Err: &TooMuchError{8 << 20}}, Failure{Class: RetrySlowly}},
		"redirect":          {&url.Error{Op: "Get", Err: &HostError{"https://example.com/"}}, Failure{Class: RetrySlowly}},
		"a refused login": {
			&azidentity.AuthenticationFailedError{RawResponse: &http.Response{Request: &http.Request{}}},
			Failure{Class: RetrySlowly, Code: "AuthenticationFailed"},
		},
		"a login without answer": {&azidentity.AuthenticationFailedError{}, Failure{Outage: true}},
		"throttled": {
			&Error{Method: "PUT", Status: 429, After: time.Minute}, Failure{Status: 429, After: time.Minute, Outage: true},
		},
		"one resource is busy": {
			&Error{Method: "PUT", Status: 429, Code: "RetryableError"},
			Failure{Status: 429, Code: "RetryableError"},
		},
		"a proxy": {&Error{Method: "PUT", Status: 504}, Failure{Status: 504, Outage: true, Late: true}},
		"a failed operation": {
			&Error{Method: "PUT", Status: 500, Code: "InternalServerError", Ended: true},
			Failure{Status: 500, Code: "InternalServerError", Ended: true},
		},
	} {
		got := Classify(fmt.Errorf("put: %w", row.err))
		if got.Message == "" {
			t.Errorf("%s: no message", name)
		}
		got.Message = ""
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want, +got): %s", name, diff)
		}
	}
}

// TestFormsOfErrors reads each form of an error's body.
func TestFormsOfErrors(t *testing.T) {
	for name, row := range map[string]struct {
		body string
		want Error
	}{
		"ARM": {
			`{"error": {"code": "C", "message": "M", "details": [{"code": "D", "message": "N"}, {"code": "D"}]}}`,
			Error{Code: "C", Message: "M D: N", Details: []string{"D"}},
		},
		"a repeated text": {
			`{"error": {"code": "C", "message": "M, as N", "details": [{"code": "D", "message": "N"}]}}`,
			Error{Code: "C", Message: "M, as N", Details: []string{"D"}},
		},
		"an id of the request": {
			`{"error": {"code": "C", "message": "M (8005df8e-6048-4920-8519-f875db4a71b4)"}}`, Error{Code: "C", Message: "M"},
		},
		"null": {
			`{"error": {"code": "C", "message": "M", "details": null, "target": null}}`, Error{Code: "C", Message: "M"},
		},
		"top level": {
			`{"code": "C", "message": "M", "details": [{"code": "D"}]}`,
			Error{Code: "C", Message: "M", Details: []string{"D"}},
		},
		"upper case": {
			`{"Code": "C", "Message": "M", "Details": [{"Message": "M"}, {"Code": "D"}]}`,
			Error{Code: "C", Message: "M", Details: []string{"D"}},
		},
		"message": {`{"Message": "M"}`, Error{Message: "M"}},
		"an operation": {
			`{"id": "/x", "name": "n", "status": "Failed", "error": {"code": "C", "message": "M"}}`,
			Error{Code: "C", Message: "M"},
		},
		"a number": {
			`{"error": {"code": 409, "message": {"lang": "en", "value": "M"}}}`, Error{Code: "409", Message: "M"},
		},
		"nested": {`{"error": {"error": {"code": "C", "message": "M"}}}`, Error{Code: "C", Message: "M"}},
		"OAuth": {
			`{"error": "invalid_client", "error_description": "M"}`, Error{Code: "invalid_client", Message: "M"},
		},
		"a page":      {`<html>secret</html>`, Error{Foreign: true}},
		"a list":      {`["secret"]`, Error{Foreign: true}},
		"nothing":     {``, Error{}},
		"other types": {`{"error": {"code": ["C"], "message": true, "details": {"code": "D"}}}`, Error{}},
	} {
		response := &http.Response{StatusCode: http.StatusConflict, Header: http.Header{}, Body: http.NoBody}
		_, err := readMessageText("PUT", response, row.body)
		got, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		row.want.Method, row.want.Status = http.MethodPut, http.StatusConflict
		if diff := cmp.Diff(row.want, *got); diff != "" {
			t.Errorf("%s (-want, +got): %s", name, diff)
		}
		if got.Error() == "" || strings.Contains(got.Error(), "secret") {
			t.Errorf("%s: the text is %q", name, got)
		}
	}
}

// TestMessagesAreSteady holds the text of an error that comes again to the same text.
func TestMessagesAreSteady(t *testing.T) {
	const id = "8005df8e-6048-4920-8519-f875db4a71b4"
	for text, want := range map[string]string{
		"use uri: https://arm/op/" + id + "?api-version=1&c=secret.": "use uri: https://arm/op/" + id,
		"Operation Delete (" + id + ") is updating x.":               "Operation Delete is updating x.",
		"It failed.\r\nRequestID=" + id:                              "It failed.",
		"An error. Tracking ID: '" + id + "'":                        "An error.",
		"The role " + id + " is missing.":                            "The role " + id + " is missing.",
	} {
		if got := steady(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCodesInHeaders(t *testing.T) {
	header := http.Header{"X-Ms-Error-Code": {"C"}, "Retry-After": {"5"}, "X-Ms-Failure-Cause": {"gateway"}}
	_, err := readMessageText(http.MethodPut, &http.Response{StatusCode: http.StatusConflict, Header: header}, "")
	want := &Error{Method: http.MethodPut, Status: http.StatusConflict, Code: "C", After: 5 * time.Second, Gateway: true}
	if diff := cmp.Diff(want, err); diff != "" {
		t.Errorf("-want, +got: %s", diff)
	}
}

func TestLongErrorsAreCut(t *testing.T) {
	body, err := json.Marshal(map[string]any{"code": strings.Repeat("c", 5000), "message": strings.Repeat("ü", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = readMessageText("PUT", &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody}, string(body))
	f := Classify(err)
	if n := len([]rune(f.Message)); n != maxMessage || len(f.Code) > 4*maxMessage {
		t.Errorf("the message has %d characters, the code %d bytes", n, len(f.Code))
	}
}

// TestRecordedRefusals reads refusals that ARM once made: each has a code or a status that says enough.
func TestRecordedRefusals(t *testing.T) {
	text, err := os.ReadFile(shareddata.Path(t, "arm-recordings/error-corpus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var corpus []struct {
		Key     [3]any
		Samples []recordedRefusal
	}
	if err := json.Unmarshal(text, &corpus); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	for _, one := range corpus {
		err := one.Samples[0].read()
		if err == nil {
			t.Errorf("%v is no failure", one.Key)
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if want, coded := one.Key[2].(string); !ok || coded && want != "None" && e.Code != want {
			t.Errorf("%v: the code is %q", one.Key, e.Code)
		}
		f := Classify(err)
		fmt.Fprintf(&table, "%-6s %3d %-62.62s %s\n", one.Samples[0].Method, f.Status, f.Code, f.Class)
		if f.Message == "" {
			t.Errorf("%v: no message", one.Key)
		}
	}
	t.Logf("%d recorded refusals:\n%s", len(corpus), table.String())
}

// recordedRefusal is one answer of ARM.
type recordedRefusal struct {
	Method, Body string
	Status       int
	Headers      map[string]string
}

// read reads the answer as the client does: a failed operation is an answer of success.
func (r recordedRefusal) read() error {
	header := http.Header{}
	for key, value := range r.Headers {
		header.Set(key, value)
	}
	m, err := readMessageText(r.Method, &http.Response{StatusCode: r.Status, Header: header, Body: http.NoBody}, r.Body)
	if err == nil {
		_, err = m.polled(Operation{Style: AsyncOperation, Method: http.MethodPut}, nil)
	}
	return err
}
