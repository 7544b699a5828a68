package kit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/external"
)

// TestExplainTooMuch: a cloud with long lists may be honest, so the error is not final. Only a
// request whose answer is always too large is not repeated soon.
func TestExplainTooMuch(t *testing.T) {
	for _, always := range []bool{false, true} {
		err := Explain(fmt.Errorf("list: %w", &openstack.TooMuchError{What: "more than 10000", Always: always}))
		got, ok := errors.AsType[*external.Error](err)
		want := &external.Error{Class: external.Transient, TooMuch: always, Message: "list: more than 10000"}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("always %t (-want +got):\n%s", always, diff)
		}
	}
}
