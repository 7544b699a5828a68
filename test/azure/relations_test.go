package azure_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// ask returns what a command of kinship prints, with single blanks.
func (w *world) ask(args ...string) string {
	w.T.Helper()
	var out, failed bytes.Buffer
	args = append([]string{"kinship", args[0], "--kubeconfig", testenv.Kubeconfig(w.T), "-n", w.NS}, args[1:]...)
	if code := cli.Main(w.T.Context(), "test", args, strings.NewReader(""), &out, &failed); code != 0 {
		w.T.Fatalf("%v: exit code %d: %s", args, code, failed.String())
	}
	return regexp.MustCompile(` +`).ReplaceAllString(out.String(), " ")
}

// TestQuestions: who-uses, tree and why know the references of kinds that are enabled at run time.
func TestQuestions(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"), nic("card", "rg", "{kubernetes: {name: front}}"))
	w.ready("nic/card")
	for _, question := range []struct {
		args []string
		want []string
	}{
		{
			[]string{"who-uses", "virtualnetworkssubnet/front"},
			[]string{
				"NetworkInterface/card NetworkInterface/card spec.ipConfigurations[0].subnet yes by finalizer azure.kinship.dev/in-use",
			},
		},
		{
			[]string{"tree", "resourcegroup/rg"},
			[]string{"needs VirtualNetworksSubnet/front", "used by NetworkInterface/card"},
		},
		{
			[]string{"why", "virtualnetworkssubnet/front"},
			[]string{"its deletion would wait: NetworkInterface/card", "spec.ipConfigurations[0].subnet"},
		},
	} {
		got := w.ask(question.args...)
		t.Logf("%v\n%s", question.args, got)
		for _, want := range question.want {
			if !strings.Contains(got, want) {
				t.Errorf("%v: no %q in\n%s", question.args, want, got)
			}
		}
	}
}
