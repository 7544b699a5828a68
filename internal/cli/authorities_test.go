package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cli"
)

// TestDefaultAuthorities: with a file without authorities, the operator ends at its start,
// before any request to the cluster.
func TestDefaultAuthorities(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, reason := range map[string]string{
		filepath.Join(folder, "missing"): "no such file or directory",
		folder:                           "is a directory",
		file("empty", ""):                "has no PEM certificate",
		file("key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"): "has no PEM certificate",
		file("long", strings.Repeat("#\n", 5<<20)):                                    "has more than 8 MiB",
	} {
		var out, errOut bytes.Buffer
		args := []string{"kinship", "operator", "--kubeconfig", filepath.Join(folder, "none"), "--default-ca-certs", path}
		code := cli.Main(t.Context(), "test", args, nil, &out, &errOut)
		for _, part := range []string{"--default-ca-certs", path, reason} {
			if code != 1 || !strings.Contains(errOut.String(), part) {
				t.Errorf("%s: code %d, %q is not in %q", path, code, part, errOut.String())
			}
		}
	}
}
