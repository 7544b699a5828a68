package install

import (
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
)

// update has the test write the table.
const update = "KINSHIP_UPDATE"

// TestRightsTable compares the table in docs/security.md with the rules that --install gives.
// KINSHIP_UPDATE=1 writes the table.
func TestRightsTable(t *testing.T) {
	for _, namespaces := range [][]string{nil, {"a", "b"}} {
		compareTable(t, namespaces)
	}
}

func compareTable(t *testing.T, namespaces []string) {
	t.Helper()
	const file, end = "../../docs/security.md", "<!-- rights: end -->"
	begin := "<!-- rights: begin -->\n"
	if len(namespaces) > 0 {
		begin = "<!-- rights in namespaces: begin -->\n"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	told, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", file)
	}
	want := rightsTable(namespaces)
	if os.Getenv(update) != "" {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if told != want {
		t.Errorf("%s tells of other rights than --install gives: run with %s=1.\ntold:\n%s\ngiven:\n%s",
			file, update, told, want)
	}
}

// rightsTable returns the rules of all roles, one line each. With namespaces, the Roles in the
// first namespace represent the Roles in all namespaces.
func rightsTable(namespaces []string) string {
	var b strings.Builder
	b.WriteString("| role, and account | resources | verbs |\n|---|---|---|\n")
	for _, obj := range rights.Objects(options.Packs(options.Options{Namespaces: namespaces}), namespaces) {
		switch role := obj.(type) {
		case *rbacv1.Role:
			if len(namespaces) > 0 && role.Namespace == namespaces[1] {
				continue
			}
			writeRules(&b, fmt.Sprintf("Role `%s` in `%s`", role.Name, role.Namespace), role.Rules)
		case *rbacv1.ClusterRole:
			writeRules(&b, fmt.Sprintf("ClusterRole `%s`", role.Name), role.Rules)
		}
	}
	return b.String()
}

func writeRules(b *strings.Builder, role string, rules []rbacv1.PolicyRule) {
	for _, rule := range rules {
		what := make([]string, 0, len(rule.Resources)+len(rule.NonResourceURLs))
		for _, resource := range rule.Resources {
			what = append(what, "`"+resource+"`")
		}
		for _, url := range rule.NonResourceURLs {
			what = append(what, "path `"+url+"`")
		}
		line := strings.Join(what, ", ")
		switch groups := strings.Join(rule.APIGroups, ", "); {
		case strings.HasPrefix(groups, ", "):
			line += " of the core group" + groups
		case groups != "":
			line += " of " + groups
		}
		if len(rule.ResourceNames) > 0 {
			line += ", named `" + strings.Join(rule.ResourceNames, "`, `") + "`"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", role, line, strings.Join(rule.Verbs, ", "))
		role = ""
	}
}
