package chaos_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/test/operator"
)

// moods are what a hostile cloud may be in: it does not answer, answers with ids and values that are wrong or no JSON,
// without an end, byte by byte, with another address, with an error, with the request to come back in a year, or with
// the promise to do later what it never does.
var moods = []string{
	"good", "hanging", "lying", "flooding", "dripping", "redirecting", "refusing", "deferring", "promising",
}

// evilCloud stands before an emulated cloud, and answers as its mood is.
type evilCloud struct {
	url  string
	good *emulator.Server
	// alien returns ids that are somebody else's.
	alien func() []string
	// trapped counts what came where redirects lead.
	trapped atomic.Int64
	trap    string
	proxy   *httputil.ReverseProxy

	mu      sync.Mutex
	random  *rand.Rand
	mood    string
	changed chan struct{} // closed when the mood changes
	// answers counts the answers of both clouds by their mood.
	answers map[string]int
}

func newEvilCloud(t *testing.T, seed uint64, alien func() []string) *evilCloud {
	t.Helper()
	c := &evilCloud{
		good: operator.Cloud(t, emulator.Options{}), alien: alien, mood: "good", changed: make(chan struct{}),
		answers: map[string]int{}, random: rand.New(rand.NewPCG(seed, 2)),
	}
	target, err := url.Parse(c.good.URL())
	if err != nil {
		t.Fatal(err)
	}
	c.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: c.rewrite,
		ErrorHandler:   func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	trap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.trapped.Add(1)
		_, _ = io.WriteString(w, `{"secret":"of the machine"}`)
	}))
	server := httptest.NewServer(c)
	t.Cleanup(func() {
		c.become("good")
		server.CloseClientConnections()
		server.Close()
		trap.Close()
	})
	c.url, c.trap = server.URL, trap.URL
	return c
}

// cloudsYAML leads to it.
func (c *evilCloud) cloudsYAML() string {
	return strings.ReplaceAll(c.good.CloudsYAML(), c.good.URL(), c.url)
}

// become changes the mood, and ends what hangs.
func (c *evilCloud) become(mood string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mood = mood
	close(c.changed)
	c.changed = make(chan struct{})
}

// now returns the mood, what tells its end, and a number.
func (c *evilCloud) now() (string, <-chan struct{}, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mood, c.changed, c.random.IntN(1 << 20)
}

// ServeHTTP implements http.Handler.
func (c *evilCloud) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.answer(w, r, c.url, c.proxy) }

// answer answers a request to a cloud with an address as the mood is. A good cloud has proxy answer.
func (c *evilCloud) answer(w http.ResponseWriter, r *http.Request, address string, proxy http.Handler) {
	mood, changed, n := c.now()
	c.count(mood, address)
	switch {
	case mood == "hanging":
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler) // The connection ends without an answer.
	case mood == "flooding":
		flood(w, address+r.URL.Path, n, changed)
	case mood == "dripping":
		drip(w, r, changed)
	case mood == "redirecting":
		codes := []int{http.StatusTemporaryRedirect, http.StatusFound, http.StatusPermanentRedirect}
		places := []string{c.trap, metadata, address + r.URL.Path}
		http.Redirect(w, r, places[n%len(places)], codes[n/8%len(codes)])
	case mood == "refusing":
		codes := []int{
			http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusUnauthorized,
			http.StatusForbidden, http.StatusConflict, http.StatusNotFound,
		}
		w.Header().Set("Retry-After", strconv.Itoa(n%3))
		w.WriteHeader(codes[n/8%len(codes)])
	case mood == "deferring":
		codes := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusAccepted}
		w.Header().Set("Retry-After", strconv.Itoa(365*24*60*60))
		w.WriteHeader(codes[n%len(codes)])
	case mood == "promising":
		for i, header := range []string{"Location", "Azure-AsyncOperation"} {
			if place := []string{"", c.trap, metadata, ":", address + "/never"}[n>>(3*i)%5]; place != "" {
				w.Header().Set(header, place)
			}
		}
		w.WriteHeader(http.StatusAccepted)
	case mood == "lying" && n%8 == 0: // Nothing is done, and all is said to be well.
		_, _ = io.WriteString(w, []string{"{}", "[]", "null", "", `{"networks":{}}`, "<html>"}[n/8%6])
	default:
		proxy.ServeHTTP(w, r)
	}
}

// count counts an answer of the cloud with an address.
func (c *evilCloud) count(mood, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if address == c.url {
		c.answers["OpenStack "+mood]++
		return
	}
	c.answers["Azure "+mood]++
}

// answered returns the answers of both clouds by their mood.
func (c *evilCloud) answered() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.answers)
}

// metadata is the address at which clouds tell machines their secrets.
const metadata = "http://169.254.169.254/latest/meta-data"

// drip answers with a byte now and then, without an end.
func drip(w http.ResponseWriter, r *http.Request, changed <-chan struct{}) {
	pause := time.NewTicker(hostilePause)
	defer pause.Stop()
	_, err := io.WriteString(w, `{"id":"`)
	for err == nil {
		if err = http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-changed:
			return
		case <-r.Context().Done():
			return
		case <-pause.C:
			_, err = io.WriteString(w, "a")
		}
	}
}

// flood answers without an end, or in pages without an end.
func flood(w io.Writer, next string, n int, changed <-chan struct{}) {
	_, err := fmt.Fprintf(w, `{"links":{"next":%q},"nextLink":%q,"networks_links":[{"rel":"next","href":%q}],"networks":[`,
		next, next, next)
	item := fmt.Sprintf(`{"id":"%d","name":%q},`, n, strings.Repeat("n", n%512))
	for range []int{10, 10000, 1 << 30}[n%3] {
		select {
		case <-changed:
			return
		default:
		}
		if err != nil {
			return // Somebody has had enough.
		}
		_, err = io.WriteString(w, item)
	}
	_, _ = io.WriteString(w, "{}]}")
}

var (
	anID     = regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f-]{27}"|"[0-9a-f]{32}"`)
	aText    = regexp.MustCompile(`: ?"[^"]{1,40}"`)
	aBoolean = regexp.MustCompile(`true|false`)
)

// rewrite has answers name this cloud instead of the one behind it. When it lies, they are
// altered as well.
func (c *evilCloud) rewrite(r *http.Response) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, []byte(c.good.URL()), []byte(c.url))
	// Who can't log in, hears no lies.
	if mood, _, n := c.now(); mood == "lying" && !strings.Contains(r.Request.URL.Path, "/auth/") {
		body = c.lie(body, n)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// lie alters an answer.
func (c *evilCloud) lie(body []byte, n int) []byte {
	switch n / 8 % 6 {
	case 0:
		return aText.ReplaceAll(body, []byte(":17"))
	case 1:
		return aBoolean.ReplaceAll(body, []byte(`{"a":[]}`))
	case 2:
		return bytes.ReplaceAll(body, []byte("project_id"), []byte("nothing"))
	case 3, 4:
		ids := c.alien()
		if len(ids) == 0 {
			return body
		}
		slices.Sort(ids)
		id := strconv.Quote(ids[n%len(ids)])
		return anID.ReplaceAllFunc(body, func([]byte) []byte { return []byte(id) })
	default:
		return body[:len(body)/2]
	}
}
