package azure_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// unread is what ask leaves out: the groups of kinds, and all but one of several blanks.
var unread = regexp.MustCompile(`\.microsoft\.[a-z.]+\.azure\.com|( ) +`)

// ask returns what a command of kinship prints, without the groups of kinds and with single blanks.
func (w *world) ask(args ...string) string {
	w.T.Helper()
	var out, failed bytes.Buffer
	args = append([]string{"kinship", args[0], "--kubeconfig", testenv.Kubeconfig(w.T), "-n", w.NS}, args[1:]...)
	if code := cli.Main(w.T.Context(), "test", args, strings.NewReader(""), &out, &failed); code != 0 {
		w.T.Fatalf("%v: exit code %d: %s", args, code, failed.String())
	}
	return unread.ReplaceAllString(out.String(), "$1")
}

// TestQuestions: who-uses, tree and why know the references of kinds that are enabled at run time.
func TestQuestions(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), vnet("net", "rg"), subnet("front", "net"), nic("card", "rg", "{kubernetes: {name: front}}"))
	w.ready("nic/card")
	for _, question := range []struct {
		command, about string
		want           []string
	}{
		{"who-uses", "virtualnetworkssubnet/front", []string{
			"NetworkInterface/card NetworkInterface/card spec.ipConfigurations[0].subnet yes " +
				"by finalizer azure.kinship.dev/in-use",
		}},
		{"tree", "resourcegroup/rg", []string{
			"├─ NetworkInterface/card", "└─ needs VirtualNetworksSubnet/front", "└─ needed by NetworkInterface/card",
		}},
		{"why", "virtualnetworkssubnet/front", []string{
			"its deletion would wait: NetworkInterface/card in namespace " + w.NS +
				" refers to it (spec.ipConfigurations[0].subnet)",
		}},
	} {
		got := w.ask(question.command, question.about)
		for _, want := range question.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %s: no %q in\n%s", question.command, question.about, want, got)
			}
		}
		if n := strings.Count(got, "owned by"); n != 0 {
			t.Errorf("%s: %d owners are shown twice:\n%s", question.command, n, got)
		}
	}
}
