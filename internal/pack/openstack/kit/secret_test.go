package kit

import (
	"errors"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/pkg/external"
)

func TestWithhold(t *testing.T) {
	for reason, err := range map[string]error{
		"of the service": &external.Error{Class: external.Invalid, Message: "password 'hush' is too short"},
		"of the client":  errors.New("parse hush: no"),
	} {
		told := withhold(err, "hush")
		if strings.Contains(told.Error(), "hush") {
			t.Errorf("an error %s tells it: %v", reason, told)
		}
		was, _ := errors.AsType[*external.Error](err)
		if known, ok := errors.AsType[*external.Error](told); ok != (was != nil) || (ok && known.Class != was.Class) {
			t.Errorf("an error %s became %#v", reason, told)
		}
	}
	if err := errors.New("other"); !errors.Is(withhold(err, "hush"), err) || withhold(nil, "hush") != nil {
		t.Error("an error that tells nothing was changed")
	}
}
