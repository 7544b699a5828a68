package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
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
				"<html>\n <head>\n  <title>403 Forbidden</title>\n </head>\n <body>\n  <h1>403 Forbidden</h1>\n"+
					"  It&#x27;s protected.<br /><br />\n\n\n </body>\n</html>"),
			Failure{Class: Forbidden, Status: 403, Message: "403 Forbidden It's protected."},
		},
		{
			"Glance's JSON", answer(403, `{"message": "It is protected.<br /><br />\n\n\n", "code": "403 Forbidden",`+
				` "title": "Forbidden"}`),
			Failure{Class: Forbidden, Status: 403, Kind: "Forbidden", Message: "It is protected."},
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
		{"paused", &throttledError{After: time.Minute}, Failure{
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

// TestStates: a refusal because of the state of another resource is repeated; a refusal because
// of the request, or of the user, is not.
func TestStates(t *testing.T) {
	t.Parallel()
	for want, texts := range map[Class][]string{
		Busy: {
			"400 Invalid application credential: Could not find role assignment with role: r, user or group: u, project: p.",
			"400 Invalid application credential: Cannot create an application credential with unassigned role",
			"400 cannot create a project in a branch containing a disabled project: d",
			"403 Cannot enable project p since it has disabled parents",
			"403 Cannot disable project p since its subtree contains enabled projects.",
			`403 Unable to update immutable role resource: r. Set resource option "immutable" to false first.`,
			`403 Cannot update project tags for p, project is immutable. Set "immutable" option to false before that.`,
			"403 Unable to create additional application credentials, maximum of 3 already exceeded for user.",
			"400 Could not find domain: d.",
			"400 Expecting to find endpoint service_id in service table.",
			"400 Bad router request: Network n is not an external network.",
			"400 Bad floatingip request: Network n is not a valid external network.",
			"400 Bad floatingip request: Network n does not contain any IPv4 subnet.",
			"400 Invalid input for operation: IP allocation requires subnets for network.",
			"400 Requested subnet with cidr: 10.0.0.0/24 for network: n overlaps with another subnet.",
			"400 Bad router request: Cidr 10.0.0.0/16 of subnet s overlaps with cidr 10.0.0.0/24 of subnet t.",
			"400 Bad router request: Subnet for router interface must have a gateway IP.",
			"400 Bad floatingip request: Cannot add floating IP to port p that has no fixed IPv4 addresses.",
			"400 Bad floatingip request: Port p does not have fixed ip 10.0.0.9.",
			"400 Unable to find any IP address on external network n.",
			"409 No more IP addresses available on network n.",
			"400 Flavor f could not be found.",
			"400 Can not find requested image",
			"400 Image i is not active.",
			"400 Invalid key_name provided.",
			"400 Unable to find security_group with name or id 'g'",
			"400 Port id p could not be found.",
			"400 Port p requires a FixedIP in order to be used.",
			"400 Port p not usable for instance i.",
			"400 Network n requires a subnet in order to boot instances on.",
			"400 No fixed IP addresses available for network: n",
			"400 Network requires port_security_enabled and subnet associated in order to apply security groups.",
			"400 Block Device Mapping is Invalid: failed to get volume v.",
			"400 Block Device v is not bootable.",
			"400 Invalid volume: volume v is already attached to instances: i",
			"403 Maximum number of ports exceeded",
			"403 Quota exceeded for cores: Requested 1, but already used 8 of 8 cores",
			"409 Port p is still in use.",
			"400 Invalid volume: Volume status must be available or error and must not be migrating, attached",
			"400 Invalid image identifier or unable to access requested image.",
			"400 Target volume type is still in use.",
			"409 Image has active task",
		},
		NotFound: {
			"404 Could not find role: r.",
			"404 Security group g does not exist",
		},
		Invalid: {
			"400 Invalid input for field 'name': 'x' is too long",
			"400 Expecting to find id or name in user.",
			"400 Bad floatingip request: Port p has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address",
			"400 Invalid input for operation: Failed to create port, because fixed_ips included invalid subnet s.",
			"400 Invalid input for operation: Requested MTU is too big, maximum is 1450.",
			"400 Missing imageRef attribute",
			"400 The requested availability zone is not available",
			"400 Block Device Mapping is Invalid: Boot sequence for the instance and block device mapping is not valid.",
			"400 Availability zone 'z' is invalid.",
			"400 Invalid input received: Size of specified image 2GB is larger than volume size 1GB.",
			"400 URI for web-download does not pass filtering: ftp://x",
		},
		Forbidden: {
			"403 You are not authorized to perform the requested action: identity:create_user.",
			"403 Project p must be in the same domain as the role r being assigned.",
			"403 ((rule:create_network and rule:create_network:shared) ) is disallowed by policy",
			"403 Policy doesn't allow os_compute_api:servers:create:forced_host to be performed.",
			"403 Image i is protected and cannot be deleted.",
		},
	} {
		for _, text := range texts {
			if got := Classify(answered(t, text)).Class; got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

// answered is an answer that begins with its status.
func answered(t *testing.T, text string) error {
	t.Helper()
	status, message, _ := strings.Cut(text, " ")
	code, err := strconv.Atoi(status)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"error": map[string]any{"code": code, "title": "T", "message": message}})
	if err != nil {
		t.Fatal(err)
	}
	return answer(code, string(body))
}

// TestForeignBodies: an answer that is no error of an OpenStack service is not quoted. A user
// may have entered another server as a cloud in order to read its answers.
func TestForeignBodies(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for reason, body := range map[string]string{
		"a text": secret,
		"a page": "<html><head><title>Admin</title></head><body>" + secret + "</body></html>",
		"nginx": "<html>\n<head><title>403 Forbidden</title></head>\n<body>\n<center><h1>403 Forbidden</h1></center>\n" +
			secret,
		"another object":             `{"password": "` + secret + `"}`,
		"Kubernetes":                 `{"kind": "Status", "message": "` + secret + `", "reason": "Forbidden", "code": 403}`,
		"Docker":                     `{"message": "` + secret + `"}`,
		"a cloud of another make":    `{"error": {"code": 403, "message": "` + secret + `", "status": "PERMISSION_DENIED"}}`,
		"etcd":                       `{"error": "` + secret + `", "message": "` + secret + `", "code": 7}`,
		"an error of another status": `{"forbidden": {"code": 404, "message": "` + secret + `"}}`,
		"and something more": `{"forbidden": {"code": 403, "message": "m"}, "more": {"code": 403, "message": "` +
			secret + `"}}`,
		"a fault of no service": `{"secrets": {"code": 403, "message": "` + secret + `"}}`,
		"not quite WebOb": `{"message": "` + secret +
			`", "code": "403 Forbidden", "title": "Forbidden", "more": 1}`,
	} {
		got := Classify(answer(403, body))
		if got.Message != "Forbidden" || got.Kind != "" || got.Class != Forbidden {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestMessagesAreCut(t *testing.T) {
	t.Parallel()
	long := Classify(answer(400, `{"badRequest": {"code": 400, "message": "`+strings.Repeat("ä", 3000)+`"}}`)).Message
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
		if got.After < 0 || got.After > 5*time.Minute {
			t.Errorf("a pause of %s", got.After)
		}
	})
}
