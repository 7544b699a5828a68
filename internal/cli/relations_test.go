package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// TestRelations needs no cluster.
func TestRelations(t *testing.T) {
	run := func(args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = Main(t.Context(), "test", append([]string{"kinship", "relations"}, args...), nil, &o, &e)
		return code, o.String(), e.String()
	}
	row := regexp.MustCompile(`iot +iotconnector-composed +Composition +IotConnector\.services\.azurehealthcareapis\.com`)
	if code, out, _ := run(); code != 0 || !row.MatchString(out) {
		t.Errorf("code %d, %s", code, out)
	}
	if code, out, _ := run("-o", "markdown"); code != 0 || !strings.Contains(out, "| iot | iotconnector-composed |") {
		t.Errorf("code %d, %s", code, out)
	}
	if code, _, errOut := run("-o", "yaml"); code != 2 || !strings.Contains(errOut, "one of table, markdown") {
		t.Errorf("code %d, %s", code, errOut)
	}
}
