package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cli/command"
)

// usageRole is what `kinship rights` prints for a used kind with Pods and a using kind.
const usageRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  labels:
    rbac.kinship.dev/aggregate-to-usage: "true"
  name: kinship-usage-kinds-pods-releases.helm.crossplane.io
rules:
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
  - list
  - watch
  - patch
  - delete
- apiGroups:
  - ""
  resources:
  - pods/eviction
  verbs:
  - create
- apiGroups:
  - helm.crossplane.io
  resources:
  - releases
  verbs:
  - get
  - list
  - watch
  - delete
`

// TestRights needs no cluster.
func TestRights(t *testing.T) {
	run := func(args ...string) (code int, out, errOut string) {
		var o, e bytes.Buffer
		code = Main(t.Context(), "test", append([]string{"kinship", "rights"}, args...), nil, &o, &e)
		return code, o.String(), e.String()
	}
	code, out, errOut := run("pods", "--using-kinds", "releases.helm.crossplane.io")
	if diff := cmp.Diff(usageRole, out); code != 0 || diff != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", code, errOut, diff)
	}
	code, out, _ = run("--pack", "oam", "mydbs.standard.oam.dev")
	for _, text := range []string{"aggregate-to-oam", "- mydbs", "- create"} {
		if code != 0 || !strings.Contains(out, text) {
			t.Errorf("code %d, %s does not have %q", code, out, text)
		}
	}
	for want, args := range map[string][]string{
		"name at least one resource":         {},
		"it can be usage or oam":             {"--pack", "openstack", "pods"},
		"no using kinds":                     {"--pack", "oam", "a.b", "--using-kinds", "c.d"},
		"is no resource":                     {"*"},
		"rights of the user who writes them": {"--pack", "oam", "iotconnectors.services.azurehealthcareapis.com"},
	} {
		if code, _, errOut := run(args...); code != command.ExitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%v: code %d, %s, want %q", args, code, errOut, want)
		}
	}
}
