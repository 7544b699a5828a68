package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
)

func answer(status int, body string) gophercloud.ErrUnexpectedResponseCode {
	return gophercloud.ErrUnexpectedResponseCode{Actual: status, Body: []byte(body), ResponseHeader: http.Header{}}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	hidden := &gophercloud.ErrErrorAfterReauthentication{}
	hidden.ErrOriginal = answer(404, `{"itemNotFound": {"code": 404, "message": "gone"}}`)
	failed := &gophercloud.ErrUnableToReauthenticate{}
	failed.ErrReauth = answer(401, `{"error": {"code": 401, "title": "Unauthorized", "message": "no"}}`)
	throttled := answer(429, "")
	throttled.ResponseHeader.Set("Retry-After", "3")
	for _, tt := range []struct {
		reason string
		err    error
		want   Failure
	}{
		{
			"Neutron names its errors", answer(409,
				`{"NeutronError": {"type": "NetworkInUse", "message": "in use", "detail": ""}}`),
			Failure{Class: Busy, Status: 409, Kind: "NetworkInUse", Message: "in use"},
		},
		{
			"a rule that is there", answer(409, `{"NeutronError": {"type": "SecurityGroupRuleExists", "message": "there"}}`),
			Failure{Class: Exists, Status: 409, Kind: "SecurityGroupRuleExists", Message: "there"},
		},
		{
			"Neutron's quota", answer(409, `{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded"}}`),
			Failure{Class: Busy, Status: 409, Kind: "OverQuota", Message: "Quota exceeded"},
		},
		{
			"Nova's quota", answer(403, `{"forbidden": {"code": 403, "message": "Quota exceeded for cores"}}`),
			Failure{Class: Busy, Status: 403, Kind: "forbidden", Message: "Quota exceeded for cores"},
		},
		{
			"Cinder's quota", answer(413, `{"overLimit": {"code": 413, "message": "VolumeLimitExceeded"}}`),
			Failure{Class: Busy, Status: 413, Kind: "overLimit", Message: "VolumeLimitExceeded"},
		},
		{
			"Keystone's duplicate", answer(409,
				`{"error": {"code": 409, "title": "Conflict", "message": "Conflict occurred attempting to store user"}}`),
			Failure{Class: Exists, Status: 409, Kind: "Conflict", Message: "Conflict occurred attempting to store user"},
		},
		{
			"Glance's page", answer(403,
				"<html><title>403 Forbidden</title><body><h1>403 Forbidden</h1>It&#x27;s protected.<br /></body></html>"),
			Failure{Class: Forbidden, Status: 403, Message: "403 Forbidden It's protected."},
		},
		{"a bad request", answer(400, `{"badRequest": {"code": 400, "message": "bad"}}`), Failure{
			Class:  Invalid,
			Status: 400, Kind: "badRequest", Message: "bad",
		}},
		{"a proxy's error", answer(502, ""), Failure{Class: Retryable, Status: 502, Message: "Bad Gateway"}},
		{"a pause", throttled, Failure{Class: Retryable, Status: 429, Message: "Too Many Requests", After: 3 * time.Second}},
		{"changed meanwhile", answer(412, ""), Failure{Class: Busy, Status: 412, Message: "Precondition Failed"}},
		{"wrapped", fmt.Errorf("create: %w", answer(404, "")), Failure{Class: NotFound, Status: 404, Message: "Not Found"}},
		{"after a new token", hidden, Failure{Class: NotFound, Status: 404, Kind: "itemNotFound", Message: "gone"}},
		{"no new token", failed, Failure{Class: Unauthorized, Status: 401, Kind: "Unauthorized", Message: "no"}},
		{"no answer", errors.New("connection reset"), Failure{Class: Retryable, Message: "connection reset"}},
		{"no time", context.DeadlineExceeded, Failure{
			Class: Retryable, Message: "context deadline exceeded", Late: true,
		}},
		{"a proxy does not wait", answer(504, ""), Failure{
			Class: Retryable, Status: 504, Message: "Gateway Timeout", Late: true,
		}},
		{"nobody is there", answer(503, ""), Failure{Class: Retryable, Status: 503, Message: "Service Unavailable"}},
		{"not sent", gophercloud.ErrMissingInput{Argument: "x"}, Failure{
			Class:   Invalid,
			Message: "Missing input for argument [x]",
		}},
		{"paused", &ThrottledError{After: time.Minute}, Failure{
			Status: 429, Message: "the cloud asked for a pause of 1m0s",
			After: time.Minute,
		}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Classify(tt.err)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestMessagesAreCut(t *testing.T) {
	t.Parallel()
	long := Classify(answer(400, `{"badRequest": {"message": "`+strings.Repeat("ä", 3000)+`"}}`)).Message
	if n := len([]rune(long)); n != maxMessage || !strings.HasSuffix(long, "…") {
		t.Errorf("%d characters", n)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(409, []byte(`{"NeutronError": {"type": "X", "message": "y"}}`), "5")
	f.Add(500, []byte("<html><title>x</title>"), "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		got := Classify(gophercloud.ErrUnexpectedResponseCode{
			Actual: status, Body: body, ResponseHeader: http.Header{"Retry-After": {after}},
		})
		if n := len([]rune(got.Message)); n > maxMessage {
			t.Errorf("a message of %d characters", n)
		}
		if got.After < 0 || got.After > time.Hour {
			t.Errorf("a pause of %s", got.After)
		}
	})
}
