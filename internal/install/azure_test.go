package install

import (
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/presence"
)

// TestCompareNamespaces: kinds of Azure get rights in the namespaces of the operators that run the pack.
func TestCompareNamespaces(t *testing.T) {
	operator := func(pack string, namespaces ...string) presence.OperatorState {
		settings := &presence.Settings{Packs: []string{pack}, Namespaces: namespaces}
		return presence.OperatorState{Holder: "host", Lease: "running", Settings: settings}
	}
	for _, row := range []struct {
		operator   presence.OperatorState
		namespaces []string
		want       string
	}{
		{operator("azure"), nil, ""},
		{operator("azure", "a", "b"), []string{"b", "a"}, ""},
		{operator("usage"), []string{"a"}, ""},
		{presence.OperatorState{}, []string{"a"}, ""}, // of a release that records no settings
		{operator("azure"), []string{"a"}, "--namespaces is a, but operator host (Lease running) serves all namespaces"},
		{operator("azure", "a"), nil, "--namespaces is all namespaces, but operator host (Lease running) serves a"},
		{operator("azure", "a"), []string{"a", "b"}, "--namespaces is a, b, but"},
	} {
		said := ""
		if err := compareNamespaces([]presence.OperatorState{row.operator}, row.namespaces); err != nil {
			said = err.Error()
		}
		if (said == "") != (row.want == "") || !strings.Contains(said, row.want) {
			t.Errorf("%v for %v: got %q, want %q", row.operator.Settings, row.namespaces, said, row.want)
		}
	}
}
