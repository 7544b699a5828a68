package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Ids of the tests.
const (
	subscription = "/subscriptions/00000000-0000-0000-0000-000000000001"
	group        = subscription + "/resourceGroups/rg"
	networks     = group + "/providers/Microsoft.Network/virtualNetworks"
	vnet         = networks + "/net"
	subnet       = vnet + "/subnets/one"
	nic          = group + "/providers/Microsoft.Network/networkInterfaces/nic"
	tables       = group + "/providers/Microsoft.Network/routeTables"
	version      = "2020-03-01"
)

// world is a cloud whose time the test moves.
type world struct {
	t     testing.TB
	cloud *Server
	now   time.Time
}

func newWorld(tb testing.TB, change ...func(*Options)) *world {
	tb.Helper()
	w := &world{t: tb, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	options := Options{Clock: func() time.Time { return w.now }}
	for _, one := range change {
		one(&options)
	}
	w.cloud = New(options)
	return w
}

// settle lets all operations end.
func (w *world) settle() *world {
	w.now = w.now.Add(time.Minute)
	return w
}

// result is an answer.
type result struct {
	status int
	header http.Header
	body   map[string]any
}

// code returns the code of an error, and behind a slash that of its first detail.
func (r result) code() string {
	inner := mapOf(r.body["error"])
	code := textOf(inner["code"])
	if details, _ := inner["details"].([]any); len(details) > 0 {
		code += "/" + textOf(mapOf(details[0])["code"])
	}
	return code
}

func (r result) state() string { return textOf(mapOf(r.body["properties"])["provisioningState"]) }

// do sends a request with the api-version of the tests, unless the path has one.
func (w *world) do(method, path, body string, headers ...string) result {
	w.t.Helper()
	if !strings.Contains(path, "api-version=") {
		path += "?api-version=" + version
	}
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	w.cloud.ServeHTTP(answer, request)
	r := result{status: answer.Code, header: answer.Header()}
	if answer.Body.Len() > 0 {
		if err := json.Unmarshal(answer.Body.Bytes(), &r.body); err != nil {
			w.t.Fatalf("%s %s: the answer is no JSON: %v", method, path, err)
		}
	}
	return r
}

func (w *world) get(path string) result { w.t.Helper(); return w.do(http.MethodGet, path, "") }

func (w *world) put(path, body string) result { w.t.Helper(); return w.do(http.MethodPut, path, body) }

func (w *world) delete(path string) result { w.t.Helper(); return w.do(http.MethodDelete, path, "") }

// ready puts a resource and lets its operation end.
func (w *world) ready(path, body string) *world {
	w.t.Helper()
	if r := w.put(path, body); r.status >= http.StatusBadRequest {
		w.t.Fatalf("PUT %s: %d %v", path, r.status, r.body)
	}
	return w.settle()
}

// located is a body with a location and properties.
func located(properties string) string {
	return fmt.Sprintf(`{"location": "westus2", "properties": {%s}}`, properties)
}

// reference is a property that names a resource.
func reference(name, id string) string { return fmt.Sprintf(`"%s": {"id": "%s"}`, name, id) }

// nicIn is the body of a network interface in a subnet.
func nicIn(subnet string) string {
	return located(`"ipConfigurations": [{"name": "ip", "properties": {` + reference("subnet", subnet) + `}}]`)
}

// withNetwork has a group, a virtual network and a subnet.
func (w *world) withNetwork() *world {
	w.t.Helper()
	return w.ready(group, located("")).ready(vnet, located("")).
		ready(subnet, `{"properties": {"addressPrefix": "10.0.0.0/24"}}`)
}

// refused checks the status and the code of an answer.
func (w *world) refused(what string, r result, status int, code string) {
	w.t.Helper()
	if r.status != status || r.code() != code {
		w.t.Errorf("%s: %d %s, want %d %s (%v)", what, r.status, r.code(), status, code, r.body)
	}
}

// is checks a status.
func (w *world) is(what string, r result, status int) {
	w.t.Helper()
	if r.status != status {
		w.t.Errorf("%s: %d, want %d (%v)", what, r.status, status, r.body)
	}
}

func id(tb testing.TB, text string) azure.ID {
	tb.Helper()
	parsed, err := azure.ParseID(text)
	if err != nil {
		tb.Fatal(err)
	}
	return parsed
}
