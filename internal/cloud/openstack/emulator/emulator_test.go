package emulator_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// cloud is an emulator with a token, called with plain HTTP: gophercloud would hide the tested
// behaviour. Package contract tests the kinds.
type cloud struct {
	*emulator.Server

	token string
}

const login = `{"auth": {
	"identity": {"methods": ["password"], "password": {"user": {"name": "demo", "domain": {"id": "default"},
		"password": "secret"}}},
	"scope": {"project": {"name": "demo", "domain": {"id": "default"}}}
}}`

func start(tb testing.TB, options emulator.Options) *cloud {
	tb.Helper()
	server, err := emulator.Start(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	c := &cloud{Server: server}
	c.become(tb, "demo")
	return c
}

// answer is a response whose body was read.
type answer struct {
	status int
	header http.Header
	text   string
}

func (c *cloud) try(tb testing.TB, method, path, body string) (answer, error) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, c.URL()+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", c.token)
	request.Header.Set("Content-Type", contentType(method, path))
	// The default client repeats a failed request on another connection.
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text)}, err
}

// contentType is JSON but for two requests of Glance.
func contentType(method, path string) string {
	switch {
	case strings.HasPrefix(path, "/image/") && method == http.MethodPatch:
		return "application/openstack-images-v2.1-json-patch"
	case strings.HasSuffix(path, "/file"):
		return "application/octet-stream"
	default:
		return "application/json"
	}
}

func (c *cloud) call(tb testing.TB, method, path, body string) answer {
	tb.Helper()
	a, err := c.try(tb, method, path, body)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// become takes the token of a user.
func (c *cloud) become(tb testing.TB, user string) {
	tb.Helper()
	a := c.call(tb, http.MethodPost, "/identity/v3/auth/tokens", strings.ReplaceAll(login, `"demo"`, `"`+user+`"`))
	if c.token = a.header.Get("X-Subject-Token"); c.token == "" {
		tb.Fatalf("no token: %s", a.text)
	}
}

func (c *cloud) wants(t *testing.T, status int, method, path, body string) string {
	t.Helper()
	a := c.call(t, method, path, body)
	if a.status != status {
		t.Fatalf("%s %s: %d, want %d\n%s", method, path, a.status, status, a.text)
	}
	return a.text
}

const (
	networks = "/network/v2.0/networks"
	one      = `{"network": {"name": "one"}}`
)

func TestFaultsOfStatus(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.AddFault(emulator.Fault{
		Service: "network", Method: "POST", Resource: "networks", Skip: 1, Times: 2, Status: 503,
		RetryAfter: 7,
	})
	c.wants(t, 201, "POST", networks, one)
	for range 2 {
		a := c.call(t, "POST", networks, one)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "7" {
			t.Errorf("%d, Retry-After %s", a.status, a.header.Get("Retry-After"))
		}
	}
	c.wants(t, 201, "POST", networks, one)
	if n := len(c.Inventory()["network/networks"]); n != 2 {
		t.Errorf("%d networks are there", n)
	}
}

func TestResets(t *testing.T) {
	t.Parallel()
	for reset, there := range map[emulator.Reset]int{emulator.BeforeExecution: 0, emulator.AfterExecution: 1} {
		t.Run(string(reset), func(t *testing.T) {
			t.Parallel()
			c := start(t, emulator.Options{})
			c.AddFault(emulator.Fault{Method: "POST", Reset: reset})
			if _, err := c.try(t, "POST", networks, one); err == nil {
				t.Error("the connection was not dropped")
			}
			if n := len(c.Inventory()["network/networks"]); n != there {
				t.Errorf("%d networks are there, want %d", n, there)
			}
		})
	}
}

// TestLate: a request is carried out even if its client does not wait.
func TestLate(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.AddFault(emulator.Fault{Method: "POST", Late: 20 * time.Millisecond})
	c.wants(t, 504, "POST", networks, one)
	deadline := time.After(10 * time.Second)
	for len(c.Inventory()["network/networks"]) == 0 {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			t.Fatal("there is no network")
		}
	}
}

// TestLast: the cloud falls silent after a call, not before. A refused call does not count.
func TestLast(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.AddFault(emulator.Fault{Method: "POST", Skip: 1, Reset: emulator.AfterExecution, Last: true})
	c.wants(t, 201, "POST", networks, one)
	c.wants(t, 400, "POST", networks, "{}")
	if _, err := c.try(t, "POST", networks, one); err == nil {
		t.Error("the connection was not dropped")
	}
	c.wants(t, 503, "GET", networks, "")
	c.wants(t, 503, "POST", networks, one)
	c.ClearFaults()
	c.wants(t, 200, "GET", networks, "")
	if n := len(c.Inventory()["network/networks"]); n != 2 {
		t.Errorf("%d networks are there", n)
	}
}

// TestTogether: no call is answered before the last of the calls has arrived, and later calls
// do not wait.
func TestTogether(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.AddFault(emulator.Fault{Method: "POST", Resource: "networks", Together: 2})
	answered := make(chan int)
	post := func() {
		a, err := c.try(t, "POST", networks, one)
		if err != nil {
			t.Error(err)
		}
		answered <- a.status
	}
	go post()
	for c.CallCount("network") == 0 { // The call has arrived.
		c.wants(t, 200, "GET", "/image/v2/images", "")
	}
	if n := len(c.Inventory()["network/networks"]); n != 0 {
		t.Errorf("%d networks are there", n)
	}
	go post()
	for range 2 {
		if status := <-answered; status != http.StatusCreated {
			t.Errorf("answered with %d", status)
		}
	}
	c.wants(t, 201, "POST", networks, one)
}

// TestDelay: a delayed call is carried out when the faults are cleared.
func TestDelay(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.AddFault(emulator.Fault{Method: "POST", Delay: time.Hour})
	answered := make(chan int)
	go func() {
		a, err := c.try(t, "POST", networks, one)
		if err != nil {
			t.Error(err)
		}
		answered <- a.status
	}()
	for c.CallCount("network") == 0 { // The call has arrived.
		c.wants(t, 200, "GET", "/image/v2/images", "")
	}
	if n := len(c.Inventory()["network/networks"]); n != 0 {
		t.Errorf("%d networks are there", n)
	}
	c.ClearFaults()
	if status := <-answered; status != http.StatusCreated {
		t.Errorf("answered with %d", status)
	}
}

func TestLatencyAndSlowBodies(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	took := func() time.Duration {
		begin := time.Now()
		c.wants(t, 200, "GET", networks, "")
		return time.Since(begin)
	}
	c.SetLatency(60 * time.Millisecond)
	if d := took(); d < 60*time.Millisecond {
		t.Errorf("with latency a call takes %s", d)
	}
	c.SetLatency(0)
	c.AddFault(emulator.Fault{Slow: 100 * time.Millisecond, Times: -1})
	if d := took(); d < 90*time.Millisecond {
		t.Errorf("with a slow body a call takes %s", d)
	}
	c.AddFault(emulator.Fault{Slow: time.Minute, Times: -1})
	c.ClearFaults()
	if d := took(); d > time.Minute {
		t.Errorf("without faults a call takes %s", d)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.ExpireTokens()
	for _, path := range []string{
		networks, "/identity/v3/projects", "/compute/v2.1/servers", "/image/v2/images", "/volume/v3/x/volumes",
		"/share/v2/share-networks",
	} {
		c.wants(t, 401, "GET", path, "")
	}
	wrong := strings.Replace(login, `"secret"`, `"wrong"`, 1)
	c.wants(t, 401, "POST", "/identity/v3/auth/tokens", wrong)
	short := start(t, emulator.Options{TokenLife: time.Nanosecond})
	short.wants(t, 401, "GET", networks, "")
}

func TestControlsOverHTTP(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.wants(t, 204, "POST", "/_emulator/faults", `{"service": "network", "status": 500}`)
	c.wants(t, 500, "POST", networks, one)
	c.wants(t, 201, "POST", networks, one)
	c.wants(t, 204, "POST", "/_emulator/faults", `{"status": 500, "times": -1}`)
	c.wants(t, 204, "DELETE", "/_emulator/faults", "")
	c.wants(t, 204, "PUT", "/_emulator/latency?duration=1ms", "")
	c.wants(t, 400, "PUT", "/_emulator/latency?duration=x", "")
	c.wants(t, 400, "POST", "/_emulator/faults", "x")
	var calls map[string]int
	if err := json.Unmarshal([]byte(c.wants(t, 200, "GET", "/_emulator/calls", "")), &calls); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"POST identity/auth/tokens": 1, "POST network/networks": 2}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	c.wants(t, 204, "DELETE", "/_emulator/calls", "")
	if text := c.wants(t, 200, "GET", "/_emulator/inventory", ""); !strings.Contains(text, `"name":"one"`) {
		t.Errorf("inventory: %s", text)
	}
	c.wants(t, 204, "DELETE", "/_emulator/tokens", "")
	c.wants(t, 401, "GET", networks, "")
}

// TestRemove: Remove drops a Network that has a Port, which a DELETE refuses, and no
// other Network of the same name.
func TestRemove(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	var made struct {
		Network struct{ ID string } `json:"network"`
	}
	if err := json.Unmarshal([]byte(c.wants(t, 201, "POST", networks, one)), &made); err != nil {
		t.Fatal(err)
	}
	c.wants(t, 201, "POST", networks, one)
	c.wants(t, 201, "POST", "/network/v2.0/ports", `{"port": {"network_id": "`+made.Network.ID+`"}}`)
	c.wants(t, 409, "DELETE", networks+"/"+made.Network.ID, "")
	if !c.Remove("network/networks", made.Network.ID) || c.Remove("network/networks", made.Network.ID) {
		t.Error("Remove does not report whether the Network existed")
	}
	c.wants(t, 404, "GET", networks+"/"+made.Network.ID, "")
	if left := c.Inventory()["network/networks"]; len(left) != 1 {
		t.Errorf("in the cloud are %v, want the other Network", left)
	}
	c.wants(t, 200, "GET", "/network/v2.0/ports", "")
}

func TestQuota(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	var made struct {
		Network struct {
			Project string `json:"project_id"`
		} `json:"network"`
	}
	if err := json.Unmarshal([]byte(c.wants(t, 201, "POST", networks, one)), &made); err != nil {
		t.Fatal(err)
	}
	quotas := "/network/v2.0/quotas/" + made.Network.Project
	c.wants(t, 403, "PUT", quotas, `{"quota": {"network": 1}}`)
	member := c.token
	c.become(t, "admin")
	c.wants(t, 200, "PUT", quotas, `{"quota": {"network": 1}}`)
	c.token = member
	if text := c.wants(t, 409, "POST", networks, one); !strings.Contains(text, `"type":"OverQuota"`) {
		t.Errorf("refused with %s", text)
	}
}

func TestBuildTime(t *testing.T) {
	t.Parallel()
	const body = `{"volume": {"size": 1}}`
	for build, want := range map[time.Duration]string{time.Hour: "creating", -1: "available"} {
		c := start(t, emulator.Options{BuildTime: build})
		c.wants(t, 202, "POST", "/volume/v3/x/volumes", body)
		if text := c.wants(t, 200, "GET", "/volume/v3/x/volumes/detail", ""); !strings.Contains(text, `"status":"`+want+`"`) {
			t.Errorf("with a build time of %s: %s", build, text)
		}
		c.SetBuildTime(0)
		text := c.wants(t, 200, "GET", "/volume/v3/x/volumes/detail", "")
		if !strings.Contains(text, `"status":"available"`) {
			t.Errorf("without a build time: %s", text)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	c := start(t, emulator.Options{})
	c.wants(t, 413, "POST", networks, strings.Repeat(" ", 1<<20)+one)
	c.wants(t, 400, "POST", networks, "{")
	c.wants(t, 400, "POST", networks, `{"network": []}`)
	c.wants(t, 404, "GET", "/network/v2.0/bogus", "")
	c.wants(t, 400, "GET", networks+"?limit=x", "")
}
