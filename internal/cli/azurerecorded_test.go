package cli

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	genazure "github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

// recordedExchange is an exchange with ARM in a cassette of go-vcr.
type recordedExchange struct {
	Request  struct{ Method, URL, Body string }
	Response struct {
		Code   int
		Status any // in some cassettes the code, in others a text
		Body   string
	}
}

// accepted reports whether ARM accepted the request.
func (e recordedExchange) accepted() bool {
	code, _ := e.Response.Status.(float64)
	return max(e.Response.Code, int(code)) < http.StatusMultipleChoices
}

// TestRecordedBodiesComeBack: "import --body" and then "render" print each recorded body as the body was. Of a PUT that
// ARM accepted, this is the body of the request and of the answer; of a GET, that of the answer.
func TestRecordedBodiesComeBack(t *testing.T) {
	file, all := recordedCatalogue(t)
	cassettes, err := filepath.Glob(filepath.Join(shareddata.Path(t, "arm-recordings"), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	counts := recordedCounts{types: map[string]int{}}
	for _, cassette := range cassettes {
		text, err := os.ReadFile(cassette)
		if err != nil {
			t.Fatal(err)
		}
		var recorded struct{ Interactions []recordedExchange }
		if err := yaml.Unmarshal(text, &recorded); err != nil {
			t.Fatalf("%s: %v", cassette, err)
		}
		for _, one := range recorded.Interactions {
			isRead := one.Request.Method == http.MethodPut || one.Request.Method == http.MethodGet
			if isRead && one.accepted() {
				counts.bodiesComeBack(t, file, all, one)
			}
		}
	}
	t.Logf("%d bodies of requests and %d of answers came back; requests by type: %v",
		counts.sent, counts.answered, counts.types)
	slices.Sort(counts.others)
	t.Logf("%d answers are those of operations, which are no resources: %v",
		len(counts.others), slices.Compact(counts.others))
	if counts.sent < 30 || counts.answered < 80 {
		t.Errorf("compared only %d bodies of requests and %d of answers", counts.sent, counts.answered)
	}
}

// recordedCounts counts compared bodies.
type recordedCounts struct {
	sent, answered int
	types          map[string]int // of the requests
	others         []string       // addresses of GETs: operations
}

// bodiesComeBack compares the bodies of an exchange.
func (c *recordedCounts) bodiesComeBack(t *testing.T, file string, all *catalogue.Catalogue, one recordedExchange) {
	t.Helper()
	address, err := url.Parse(one.Request.URL)
	if err != nil {
		t.Fatal(err)
	}
	isPut := one.Request.Method == http.MethodPut
	id, err := azurecloud.ParseID(address.Path)
	if err != nil || all.Default(id.Type()) == nil {
		if c.others = append(c.others, address.Path); isPut {
			t.Errorf("%s: no type of the catalogue: %v", one.Request.URL, err)
		}
		return
	}
	if isPut {
		comesBack(t, file, all, id, one.Request.Body)
		c.types[id.Type()]++
		c.sent++
	}
	if one.Response.Body != "" {
		comesBack(t, file, all, id, one.Response.Body)
		c.answered++
	}
}

// recordedCatalogue writes the catalogue of the recorded types and api-versions, as "armgen catalogue" does.
func recordedCatalogue(t *testing.T) (file string, c *catalogue.Catalogue) {
	t.Helper()
	config, err := genazure.DefaultConfig(false)
	if err != nil {
		t.Fatal(err)
	}
	library := genazure.Load([]fs.FS{shareddata.Archive(t, "arm-schemas-all/recorded.tar.xz")})
	if err := library.AddFacts(shareddata.Text(t, "arm-facts/arm-facts.jsonl.xz")); err != nil {
		t.Fatal(err)
	}
	_, c, err = genazure.Generate(library, config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "recorded.catalogue")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, c
}

// comesBack runs both commands, and compares the body that "render" prints with the body that "import" read, without
// the values that Azure alone writes.
func comesBack(t *testing.T, file string, all *catalogue.Catalogue, id azurecloud.ID, body string) {
	t.Helper()
	read := filepath.Join(t.TempDir(), "body.json")
	if err := os.WriteFile(read, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	manifest, errOut, code := azureCommandOutput(t, "import", "--keep-unknown", "--azure-catalogue", file, "--body", read,
		id.String())
	if code != 0 {
		t.Errorf("import of %s: exit code %d\n%s\n%s", id, code, errOut, body)
		return
	}
	written := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(written, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	request, errOut, code := azureCommandOutput(t, "render", "--azure-catalogue", file, "-f", written)
	if code != 0 {
		t.Errorf("render of %s: exit code %d\n%s\n%s", id, code, errOut, manifest)
		return
	}
	_, request, _ = strings.Cut(request, "\n") // The first line names the object.
	line, printed, _ := strings.Cut(request, "\n")
	if !strings.HasPrefix(line, "GET https://management.azure.com"+id.String()+"?api-version=") {
		t.Errorf("the request of %s is %s", id, line)
	}
	definition, err := all.Default(id.Type()).Definition()
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]any
	if err := json.Unmarshal([]byte(body), &before); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	if err := json.Unmarshal([]byte(printed), &after); err != nil {
		t.Fatalf("%s: %v\n%s", id, err, printed)
	}
	if diff := cmp.Diff(definition.Writable(before), after); diff != "" {
		t.Errorf("%s (-before +after):\n%s\n%s", id, diff, manifest)
	}
}
