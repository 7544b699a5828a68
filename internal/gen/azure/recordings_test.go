package azure_test

import (
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/shareddata"
)

// recording is a file of recorded exchanges.
type recording struct {
	Interactions []struct {
		Request  struct{ Method, URL, Body string }
		Response struct {
			Code   int
			Status any
			Body   string
		}
	}
}

// TestRecordings: each body that Azure accepted, and each body that it answered with, is the same after
// it went through Kubernetes.
func TestRecordings(t *testing.T) {
	c := generated(t, []fs.FS{shareddata.Archive(t, "arm-schemas-all/recorded.tar.xz")})
	files, err := filepath.Glob(filepath.Join(shareddata.Path(t, "arm-recordings"), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	requests, answers := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := yaml.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, i := range r.Interactions {
			code, _ := i.Response.Status.(float64)
			if method := i.Request.Method; i.Response.Code+int(code) >= 300 || method != "PUT" && method != "GET" {
				continue
			}
			if i.Request.Body != "" && convertsBack(t, c, i.Request.URL, i.Request.Body) {
				requests++
			}
			if convertsBack(t, c, i.Request.URL, i.Response.Body) {
				answers++
			}
		}
	}
	if requests < 30 || answers < 50 {
		t.Errorf("compared only %d requests and %d answers", requests, answers)
	}
	t.Logf("%d requests and %d answers", requests, answers)
}

// convertsBack converts a body there and back. It returns false if the address is no resource.
func convertsBack(t *testing.T, c *catalogue.Catalogue, address, text string) bool {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parent, armType, name := resourceOf(u.Path)
	var k *catalogue.Kind
	for _, version := range c.Versions(armType) {
		if version.APIVersion == u.Query().Get("api-version") {
			k = version
		}
	}
	var body map[string]any
	if k == nil || json.Unmarshal([]byte(text), &body) != nil || body == nil {
		return false
	}
	with := catalogue.Conversion{Parent: parent, Name: name}
	spec, rest, err := k.FromARM(body, with)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	catalogue.SetRest(spec, rest)
	stored, err := json.Marshal(spec) // as in a manifest
	if err != nil {
		t.Fatal(err)
	}
	var read map[string]any
	if err := json.Unmarshal(stored, &read); err != nil {
		t.Fatal(err)
	}
	back, err := k.ToARM(read, with)
	if err != nil {
		t.Errorf("%s: %v\n%s", address, err, stored)
	}
	if diff := cmp.Diff(body, back); diff != "" {
		t.Errorf("%s (-before +after):\n%s\nspec: %s", address, diff, stored)
	}
	return true
}

// resourceOf splits the path of a resource.
func resourceOf(path string) (parent, armType, name string) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	if len(segments) < 4 {
		return "", "", ""
	}
	if len(segments) == 4 {
		return "/" + strings.Join(segments[:2], "/"), catalogue.ResourceGroupType, segments[3]
	}
	at := len(segments) - 1
	for i, s := range segments {
		if strings.EqualFold(s, "providers") {
			at = i
		}
	}
	types := []string{}
	if at+1 < len(segments) {
		types = append(types, segments[at+1])
	}
	for i := at + 2; i < len(segments); i += 2 {
		types = append(types, segments[i])
	}
	end := len(segments) - 2
	if at == end-2 { // the parent of a top-level resource ends before providers
		end = at
	}
	return "/" + strings.Join(segments[:end], "/"), strings.Join(types, "/"), segments[len(segments)-1]
}
