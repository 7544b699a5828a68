package emulator

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// universe are the resources of the property test. A value is a body; names in it are those of other resources.
var universe = map[string][]string{
	group: {located("")},
	vnet: {
		located(""), located(`"subnets": [{"name": "one"}]`), located(reference("x", tables+"/t")),
	},
	subnet:                 {`{}`, `{"properties": {` + reference("routeTable", tables+"/t") + `}}`},
	vnet + "/subnets/two":  {`{}`},
	nic:                    {located(""), nicIn(subnet), nicIn(vnet + "/subnets/two")},
	tables + "/t":          {located("")},
	tables + "/t/routes/a": {`{}`},
	tables + "/t/routes/b": {`{}`},
	deployment1: {
		template(`[` + symbolic(networksType, "net", `, "location": "westus2"`) + `]`),
	},
	subscription + "/resourceGroups/rg2": {located("")},
}

// TestAnyOrderKeepsTheRules sends random requests, with time between them. Whatever was answered, no resource is
// without its owner, and no resource that is protected while in use is missing while a reference to it is there.
func TestAnyOrderKeepsTheRules(t *testing.T) {
	paths := slices.Sorted(maps.Keys(universe))
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(1, 60).Draw(rt, "requests") {
			path := rapid.SampledFrom(paths).Draw(rt, "path")
			switch rapid.SampledFrom([]string{"put", "put", "put", "get", "delete"}).Draw(rt, "method") {
			case "put":
				w.put(path, rapid.SampledFrom(universe[path]).Draw(rt, "body"))
			case "get":
				w.get(path)
			case "delete":
				w.delete(path)
			}
			w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{0, 10, 60, 300}).Draw(rt, "ms")) * time.Millisecond)
			checkRules(rt, w.cloud)
		}
	})
}

func checkRules(rt *rapid.T, s *Server) {
	for key, r := range s.store.all {
		parent := r.id.Parent()
		if !isPlace(parent) && s.store.get(parent) == nil {
			rt.Fatalf("%s is there without %s", key, parent)
		}
		for ref := range r.refs {
			target, err := azure.ParseID(ref)
			if err != nil {
				rt.Fatal(err)
			}
			kind, _ := s.types.Type(target.Type())
			if kind.InUse != nil && s.store.get(target) == nil {
				rt.Fatalf("%s refers to %s, which is missing", key, ref)
			}
		}
		if (r.running == nil) != (r.state == "Succeeded" || r.state == "Failed") {
			rt.Fatalf("%s is %s, and running is %v", key, r.state, r.running)
		}
	}
}

// FuzzRequests sends any request: each is answered, and nothing panics.
func FuzzRequests(f *testing.F) {
	f.Add("PUT", vnet, "2020-03-01", located(`"subnets": [{"name": "a"}, 1, null]`))
	f.Add("PUT", deployment1, "2020-03-01", template(`{"a": {"type": "[resourceId()]"}}`))
	f.Add("GET", group+"/resources", "2020-03-01", "")
	f.Add("DELETE", "/subscriptions//x", "", "{}")
	f.Add("PUT", subscription, "2020-03-01", `{"properties": {"a": [[{"name": 1}]]}}`)
	f.Fuzz(func(t *testing.T, method, path, version, body string) {
		w := newWorld(t).withNetwork()
		request, err := http.NewRequest(method, "http://x", strings.NewReader(body))
		if err != nil {
			return
		}
		request.URL.Path = "/" + strings.TrimPrefix(path, "/")
		request.URL.RawQuery = "api-version=" + version
		for range 2 {
			answer := httptest.NewRecorder()
			w.cloud.ServeHTTP(answer, request)
			if answer.Code < 200 || answer.Code > 599 {
				t.Errorf("status %d", answer.Code)
			}
			w.settle().get(vnet)
		}
	})
}
