package sbom_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"

	"github.com/kinship-dev/kinship/release/sbom"
)

// bill is the bill of the program that makes releases.
func bill(t *testing.T) sbom.Bill {
	t.Helper()
	program := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := sbom.Read(program)
	if err != nil {
		t.Fatal(err)
	}
	b.Version, b.SHA256, b.Time = "v1.2.3", strings.Repeat("0", 64), time.Unix(1_700_000_000, 0)
	return b
}

const (
	used    = "github.com/CycloneDX/cyclonedx-go"
	usedURL = "pkg:golang/github.com/CycloneDX/cyclonedx-go@v"
)

// TestRead: the modules are those that the program was compiled from.
func TestRead(t *testing.T) {
	b := bill(t)
	if !slices.ContainsFunc(b.Modules, func(m sbom.Module) bool { return m.Path == used && m.Version != "" }) {
		t.Errorf("%s is not among %v", used, b.Modules)
	}
	if b.Go == "" || strings.HasPrefix(b.Go, "go") {
		t.Errorf("the compiler is %q", b.Go)
	}
	if _, err := sbom.Read("sbom_test.go"); err == nil || !strings.Contains(err.Error(), "sbom_test.go") {
		t.Errorf("a file that is no program: %v", err)
	}
}

// TestCycloneDX: the library of the format reads the bill back, with all modules.
func TestCycloneDX(t *testing.T) {
	b := bill(t)
	text, err := b.CycloneDX()
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(bytes.NewReader(text), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got, want := len(*bom.Components), len(b.Modules)+1; got != want {
		t.Errorf("%d components, want %d", got, want)
	}
	if !slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool {
		return strings.HasPrefix(c.PackageURL, usedURL)
	}) {
		t.Errorf("%s is not among the components", used)
	}
	if hashes := bom.Metadata.Component.Hashes; hashes == nil || (*hashes)[0].Value != b.SHA256 {
		t.Errorf("the program has the hashes %v", hashes)
	}
}

// TestSPDX: the library of the format reads the bill back, with all modules.
func TestSPDX(t *testing.T) {
	b := bill(t)
	text, err := b.SPDX()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(doc.Packages), len(b.Modules)+2; got != want {
		t.Errorf("%d packages, want %d", got, want)
	}
	if got, want := len(doc.Relationships), len(b.Modules)+2; got != want {
		t.Errorf("%d relationships, want %d", got, want)
	}
	if sums := doc.Packages[0].PackageChecksums; len(sums) != 1 || sums[0].Value != b.SHA256 {
		t.Errorf("the program has the checksums %v", sums)
	}
}
