package emulator_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

var userID = regexp.MustCompile(`"id":"([0-9a-f]+)"`)

// request is a request with a fuzzed body. {table} in the body is the last object of that
// table, and ME the user: IDs differ between processes.
type request struct{ method, path, body string }

// ids puts IDs for the names of tables.
func (c *cloud) ids(me string) *strings.Replacer {
	tables := c.Inventory()
	pairs := append(make([]string, 0, 2+2*len(tables)), "ME", me)
	for table, made := range tables {
		pairs = append(pairs, "{"+table+"}", made[len(made)-1].ID)
	}
	return strings.NewReplacer(pairs...)
}

// requests reads testdata/requests.txt and sends all requests, so that each request finds its
// objects.
func (c *cloud) requests(tb testing.TB) ([]request, *strings.Replacer) {
	tb.Helper()
	text, err := os.ReadFile("testdata/requests.txt")
	if err != nil {
		tb.Fatal(err)
	}
	me := userID.FindStringSubmatch(c.call(tb, "GET", "/identity/v3/users?name=admin", "").text)[1]
	var all []request
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.SplitN(strings.TrimSpace(line), " ", 3)
		ids := c.ids(me)
		r := request{part[0], ids.Replace(part[1]), part[2]}
		if strings.Contains(r.path, "{") {
			tb.Fatalf("nothing was made for %s", r.path)
		}
		c.call(tb, r.method, r.path, ids.Replace(r.body))
		all = append(all, r)
	}
	return all, c.ids(me)
}

// FuzzBodies: whatever a request says, the answer is no server error and the
// emulator goes on.
func FuzzBodies(f *testing.F) {
	c := start(f, emulator.Options{BuildTime: -1})
	c.become(f, "admin")
	all, ids := c.requests(f)
	for i, r := range all {
		f.Add(uint(i), []byte(r.body))
	}
	f.Fuzz(func(t *testing.T, i uint, body []byte) {
		r := all[i%uint(len(all))]
		if a := c.call(t, r.method, r.path, ids.Replace(string(body))); a.status >= http.StatusInternalServerError {
			t.Errorf("%s %s %s: %d\n%s", r.method, r.path, body, a.status, a.text)
		}
	})
}
