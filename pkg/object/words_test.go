package object_test

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestWords: a plain name is one word beside the kind.
func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"settings":     "Role.rbac.authorization.k8s.io settings",
		"system:node":  "Role.rbac.authorization.k8s.io system:node",
		"$(touch x)":   "Role.rbac.authorization.k8s.io/'$(touch x)'",
		"--all":        "Role.rbac.authorization.k8s.io/'--all'",
		"it's":         `Role.rbac.authorization.k8s.io/'it'\''s'`,
		"a\x1b[2J'\\b": `Role.rbac.authorization.k8s.io/$'a\x1b[2J\'\\b'`,
	} {
		id := object.ID{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: "ns", Name: name}
		if got := id.Words(); got != want {
			t.Errorf("Words of %q is %s, want %s", name, got, want)
		}
	}
}

// TestWordsInShell: bash reads a strange name as a part of one word, and runs nothing of the name.
func TestWordsInShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOfN(rapid.SampledFrom([]rune("ab$(`'\"\\;&|<>*?~!#{} \t\n\x1bé-=")), 1, 12, -1).Draw(t, "name")
		words := object.ID{Kind: "Role", Name: name}.Words()
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf '%s\\0' "+words).Output()
		if err != nil {
			t.Fatalf("%s: %v", words, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if joined := strings.Join(got, "/"); len(got) > 2 || joined != "Role/"+name {
			t.Fatalf("bash reads %s as %q", words, got)
		}
	})
}
