package external

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestWithhold: the text of an error has no value of a secret, neither plain nor in JSON.
func TestWithhold(t *testing.T) {
	for reason, err := range map[string]error{
		"of the service": &Error{Class: Invalid, Message: "password 'hush' is too short"},
		"of a proxy": &Error{
			Class: Transient, After: time.Minute, Late: true, Message: "504 hush timed out",
		},
		"of the client": errors.New("parse hush: no"),
		"of JSON":       errors.New(`parse {"password": "a\"b"}`),
	} {
		told := Withhold(err, "", "hush", `a"b`)
		if strings.Contains(told.Error(), "hush") || !strings.Contains(told.Error(), "[withheld]") {
			t.Errorf("an error %s tells it: %v", reason, told)
		}
		was, _ := errors.AsType[*Error](err)
		known, ok := errors.AsType[*Error](told)
		if ok != (was != nil) {
			t.Errorf("an error %s became %#v", reason, told)
		}
		if diff := cmp.Diff(was, known, cmpopts.IgnoreFields(Error{}, "Message")); diff != "" {
			t.Errorf("an error %s lost something (-was +told):\n%s", reason, diff)
		}
	}
	if err := errors.New("other"); !errors.Is(Withhold(err, "hush"), err) || Withhold(nil, "hush") != nil {
		t.Error("an error that tells nothing was changed")
	}
}
