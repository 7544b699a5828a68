package authorise_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinship-dev/kinship/pkg/authorise"
)

// TestRecord: the author is the user who wrote spec, labels or annotations last, whatever the annotation of
// the authors says.
func TestRecord(t *testing.T) {
	const (
		path      = "/metadata/annotations"
		key       = path + "/kinship.dev~1authors"
		noted     = `{"metadata":{"annotations":{"kinship.dev/authors":"[{\"username\":\"a\"}]"}},"spec":{"n":1}}`
		bare      = `{"metadata":{},"spec":{"n":1}}`
		other     = `{"metadata":{"annotations":{"x":"y"}},"spec":{"n":2}}`
		annotated = `{"metadata":{"annotations":{"x":"y"}},"spec":{"n":1}}`
		labelled  = `{"metadata":{"labels":{"x":"y"}},"spec":{"n":1}}`
		applied   = `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"spec":{"n":1}}`
		// forged names the administrator.
		forged = `{"metadata":{"annotations":{"kinship.dev/authors":"[{\"username\":\"admin\"}]"}},"spec":{"n":1}}`
	)
	list := func(user string) string { return `"[{\"username\":\"` + user + `\"}]"` }
	one := func(user string) string { return `[{"op":"add","path":"` + key + `","value":` + list(user) + `}]` }
	both := func(user string) string {
		return `[{"op":"add","path":"` + path + `","value":{"kinship.dev/authors":` + list(user) + `}}]`
	}
	for name, test := range map[string]struct{ user, old, now, want string }{
		"created":                {"a", "", bare, both("a")},
		"created with forgery":   {"b", "", forged, one("b")},
		"same spec":              {"b", noted, noted, `null`},
		"same spec with forgery": {"b", noted, forged, one("a")},
		"same spec, no record":   {"b", bare, forged, `[{"op":"remove","path":"` + key + `"}]`},
		"other spec":             {"b", noted, other, one("b")},
		"annotation removed":     {"b", noted, bare, both("a")},
		"other annotation":       {"b", noted, annotated, one("b")},
		"other label":            {"b", noted, labelled, both("b")},
		"record of kubectl":      {"b", noted, applied, one("a")},
	} {
		t.Run(name, func(t *testing.T) {
			req := &admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, UserInfo: authenticationv1.UserInfo{Username: test.user},
				Object: runtime.RawExtension{Raw: []byte(test.now)},
			}
			if test.old != "" {
				req.Operation, req.OldObject.Raw = admissionv1.Update, []byte(test.old)
			}
			patches, err := authorise.Record(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(patches)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := authorise.Record(&admissionv1.AdmissionRequest{}); err == nil {
		t.Error("an object that can't be read is taken")
	}
}
