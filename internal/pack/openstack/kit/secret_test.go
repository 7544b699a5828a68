package kit

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kinship-dev/kinship/pkg/external"
)

func TestWithhold(t *testing.T) {
	for reason, err := range map[string]error{
		"of the service": &external.Error{Class: external.Invalid, Message: "password 'hush' is too short"},
		"of a proxy": &external.Error{
			Class: external.Transient, After: time.Minute, Late: true, Message: "504 hush timed out",
		},
		"of the client": errors.New("parse hush: no"),
	} {
		told := withhold(err, "hush")
		if strings.Contains(told.Error(), "hush") {
			t.Errorf("an error %s tells it: %v", reason, told)
		}
		was, _ := errors.AsType[*external.Error](err)
		known, ok := errors.AsType[*external.Error](told)
		if ok != (was != nil) {
			t.Errorf("an error %s became %#v", reason, told)
		}
		if diff := cmp.Diff(was, known, cmpopts.IgnoreFields(external.Error{}, "Message")); diff != "" {
			t.Errorf("an error %s lost something (-was +told):\n%s", reason, diff)
		}
	}
	if err := errors.New("other"); !errors.Is(withhold(err, "hush"), err) || withhold(nil, "hush") != nil {
		t.Error("an error that tells nothing was changed")
	}
}
