package relation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

var (
	configMap = schema.GroupKind{Kind: "ConfigMap"}
	alice     = object.ID{Kind: "User", Name: "alice"}
	bob       = object.ID{Kind: "User", Name: "bob"}
)

// harness is a Watcher with records of its callbacks and requests.
type harness struct {
	*relation.Watcher

	wire *wire
	stop func() // Stops the watcher and waits until Start has returned.

	mu      sync.Mutex
	changes []relation.Change
	times   []time.Time        // Of the changes.
	kinds   []schema.GroupKind // Which were told of,
	states  []string           // the state of the Watcher at each callback
	lines   []string
}

// start runs a watcher until the end of the test.
func start(t *testing.T, config *rest.Config) *harness {
	t.Helper()
	h := prepare(t, config)
	h.run(t)
	return h
}

// run has a watcher that was prepared run until the end of the test.
func (h *harness) run(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() { returned <- h.Start(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-returned; err != nil {
			t.Errorf("the watcher failed: %v", err)
		}
	})
	t.Cleanup(h.stop)
}

// prepare makes a watcher that does not run yet.
func prepare(t *testing.T, config *rest.Config) *harness {
	t.Helper()
	h := &harness{wire: &wire{}}
	config.Wrap(h.wire.under)
	log := funcr.New(func(_, args string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lines = append(h.lines, args)
	}, funcr.Options{})
	h.Watcher = newWatcher(t, config, log)
	h.OnObject(func(c relation.Change) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.changes, h.times = append(h.changes, c), append(h.times, time.Now())
	})
	h.OnKind(func(gk schema.GroupKind) {
		state := h.stateOf(gk)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.kinds = append(h.kinds, gk)
		h.states = append(h.states, state)
	})
	return h
}

func newWatcher(t *testing.T, config *rest.Config, log logr.Logger) *relation.Watcher {
	t.Helper()
	w, err := relation.NewWatcher(config, log)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// changesOf returns the changes of one object so far.
func (h *harness) changesOf(id object.ID) []relation.Change {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []relation.Change
	for _, c := range h.changes {
		if c.Object().ID == id {
			found = append(found, c)
		}
	}
	return found
}

// heard returns when something last was told of the definitions of a group.
func (h *harness) heard(group string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, c := range slices.Backward(h.changes) {
		if strings.HasSuffix(c.Object().ID.Name, "."+group) {
			return h.times[i]
		}
	}
	return time.Time{}
}

// told returns how often something was told of a kind.
func (h *harness) told(gk schema.GroupKind) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, k := range h.kinds {
		if k == gk {
			n++
		}
	}
	return n
}

// stateOf returns how far the watcher is with a kind.
func (h *harness) stateOf(gk schema.GroupKind) string {
	var missing *watch.KindError
	_, presence := h.Get(object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: "none", Name: "none"})
	switch problem := h.Problem(gk); {
	case errors.As(problem, &missing):
		return "missing"
	case problem != nil:
		return "unreadable"
	case presence == relation.Unknown:
		return "served"
	default:
		return "read"
	}
}

// awaitStates waits until the callbacks for a kind have reported these states in order. In
// between, the kind may be unreadable for a moment: discovery lists a kind before the API
// server serves the kind.
func (h *harness) awaitStates(t *testing.T, gk schema.GroupKind, want ...string) {
	t.Helper()
	testenv.Eventually(t, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		var got []string
		for i, state := range h.states {
			if h.kinds[i] == gk && state != "unreadable" {
				got = append(got, state)
			}
		}
		if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
			return fmt.Errorf("told of %s (-want +got):\n%s", gk, diff)
		}
		return nil
	})
}

// awaitTold waits until something was told of a kind that often: that a kind has been
// read can be seen a moment before.
func (h *harness) awaitTold(t *testing.T, gk schema.GroupKind, want int) {
	t.Helper()
	testenv.Eventually(t, func() error {
		if n := h.told(gk); n != want {
			return fmt.Errorf("told %d times of %s, want %d", n, gk, want)
		}
		return nil
	})
}

// logged returns the lines of the log that contain a text.
func (h *harness) logged(text string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []string
	for _, line := range h.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// awaitPresence waits until the watcher knows this of an object.
func (h *harness) awaitPresence(t *testing.T, id object.ID, want relation.Presence) relation.Object {
	t.Helper()
	var obj relation.Object
	testenv.Eventually(t, func() error {
		var got relation.Presence
		if obj, got = h.Get(id); got != want {
			return fmt.Errorf("presence of %s is %d, want %d; problem: %w", id, got, want, h.Problem(id.GroupKind()))
		}
		return nil
	})
	return obj
}

// awaitRead waits until a kind in use has been read.
func (h *harness) awaitRead(t *testing.T, gk schema.GroupKind) {
	t.Helper()
	h.awaitPresence(t, object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: "no", Name: "such"}, relation.Absent)
}

// wire is the transport for the requests of a Watcher. wire counts requests, and can fail.
type wire struct {
	next http.RoundTripper

	mu      sync.Mutex
	sent    []string // path and query
	streams map[*stream]struct{}
	// answer answers in place of the API server, unless answer returns nil and nil.
	answer func(*http.Request) (*http.Response, error)
}

func (w *wire) under(next http.RoundTripper) http.RoundTripper {
	if w.next == nil { // Every client wraps, and all end at the same transport.
		w.next = next
	}
	return w
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.sent = append(w.sent, r.URL.RequestURI())
	answer := w.answer
	w.mu.Unlock()
	if answer != nil {
		if response, err := answer(r); response != nil || err != nil {
			return response, err
		}
	}
	response, err := w.next.RoundTrip(r)
	if err != nil || !strings.Contains(r.URL.RawQuery, "watch=true") {
		return response, err
	}
	s := &stream{ReadCloser: response.Body, path: r.URL.Path, wire: w}
	response.Body = s
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams == nil {
		w.streams = map[*stream]struct{}{}
	}
	w.streams[s] = struct{}{}
	return response, nil
}

// count returns how many requests contained a text.
func (w *wire) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, uri := range w.sent {
		if strings.Contains(uri, text) {
			n++
		}
	}
	return n
}

// awaitQuiet waits until no request that contains a text was sent during a number of checks,
// and returns the number of such requests so far.
func (w *wire) awaitQuiet(t *testing.T, text string, looks int) int {
	t.Helper()
	sent, same := 0, 0
	testenv.Eventually(t, func() error {
		if n := w.count(text); n != sent {
			sent, same = n, 0
		}
		if same++; same < looks {
			return fmt.Errorf("%d requests, and there may be more", sent)
		}
		return nil
	})
	return sent
}

// watching returns how many watches of a resource are open, or of all.
func (w *wire) watching(resource string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for s := range w.streams {
		if resource == "" || strings.HasSuffix(s.path, "/"+resource) {
			n++
		}
	}
	return n
}

// divert makes f answer requests in place of the API server. If f returns nothing, the API
// server answers. A nil f diverts no request.
func (w *wire) divert(f func(*http.Request) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = f
}

// unlist takes a group out of the list of groups.
func (w *wire) unlist(group string) {
	w.divert(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/apis" {
			return nil, nil // The API server is to answer.
		}
		response, err := w.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
			return nil, err
		}
		list.Items = slices.DeleteFunc(list.Items, func(g apidiscoveryv2.APIGroupDiscovery) bool { return g.Name == group })
		body, err := json.Marshal(list)
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, err
	})
}

// lag makes discovery return its last list of groups while late returns true.
func (w *wire) lag(late func() bool) {
	var mu sync.Mutex
	var last []byte
	w.divert(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/apis" {
			return nil, nil // The API server is to answer.
		}
		response, err := w.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		mu.Lock()
		defer mu.Unlock()
		if last == nil || !late() {
			last = body
		}
		response.Body = io.NopCloser(bytes.NewReader(last))
		return response, err
	})
}

var errCut = errors.New("the wire is cut")

// cut closes every connection and refuses new connections until mend.
func (w *wire) cut() (mend func()) {
	w.divert(func(*http.Request) (*http.Response, error) { return nil, errCut })
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.streams {
		_ = s.ReadCloser.Close() // The request must fail.
	}
	return func() { w.divert(nil) }
}

// stream is the answer to a watch.
type stream struct {
	io.ReadCloser

	path string
	wire *wire
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.wire.mu.Lock()
	delete(s.wire.streams, s)
	s.wire.mu.Unlock()
	return s.ReadCloser.Close()
}
