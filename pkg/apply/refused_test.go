package apply_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// refuser refuses each deletion of one object.
type refuser struct {
	name   string
	status metav1.Status

	next  http.RoundTripper
	asked int
}

func (f *refuser) wrap(next http.RoundTripper) http.RoundTripper {
	f.next = next
	return f
}

func (f *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodDelete || !strings.HasSuffix(r.URL.Path, "/"+f.name) {
		return f.next.RoundTrip(r)
	}
	f.asked++
	text, err := json.Marshal(f.status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(f.status.Code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(text)), Request: r,
	}, nil
}

// TestRefused: a refused deletion is reported with the text of the refusal, whatever its status
// code. The object stays in the inventory, and all other objects are deleted.
func TestRefused(t *testing.T) {
	cases := map[string]struct {
		code    int32
		reason  metav1.StatusReason
		message string
		refused bool
	}{
		"a conflict that is none": {http.StatusConflict, metav1.StatusReasonConflict, "it is in use", true},
		"a policy":                {http.StatusForbidden, metav1.StatusReasonForbidden, "it is in use", true},
		"another policy":          {http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "it is in use", true},
		"a webhook's own":         {http.StatusTeapot, "Tea", `admission webhook "w" denied the request: it is in use`, true},
		"a webhook that is away":  {http.StatusInternalServerError, metav1.StatusReasonInternalError, "it is in use", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			refuse := &refuser{name: "used", status: metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
				Status:   metav1.StatusFailure, Code: c.code, Reason: c.reason, Message: c.message,
			}}
			changes := "refused ConfigMap/used"
			if !c.refused {
				changes = "failed ConfigMap/used"
			}
			judge := func(what string, result apply.Result, err error) {
				t.Helper()
				if (err == nil) != c.refused {
					t.Errorf("%s: error %v", what, err)
				}
				said := result.Changes[len(result.Changes)-1].Message
				if strings.Contains(said, "it is in use") != c.refused {
					t.Errorf("%s: it says %q", what, said)
				}
				equal(t, what, "used", w.recorded())
			}
			w.life(nil).must(w.configMap("used", 0), w.configMap("a", 1))
			result, err := w.life(refuse.wrap).run()
			equal(t, "pruned", "pruned ConfigMap/a; "+changes, result.Changes.String())
			judge("pruned", result, err)
			result, err = w.life(refuse.wrap).destroy()
			equal(t, "deleted", changes, result.Changes.String())
			judge("deleted", result, err)
			if refuse.asked != 2 {
				t.Errorf("it was asked for %d times, want once each", refuse.asked)
			}
			w.life(nil).must()
			equal(t, "state", "", w.state())
			equal(t, "record", "", w.recorded())
		})
	}
}

// TestChangedMeanwhile: a conflict because the object has changed is no refusal.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.life(nil).must(w.configMap("a", 0, "x=1"))
	l := w.life(nil)
	cm := w.get("a")
	cm.Annotations = map[string]string{"y": "1"}
	if err := w.c.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	equal(t, "changes", "pruned ConfigMap/a", l.must().Changes.String())
	equal(t, "state", "", w.state())
}
