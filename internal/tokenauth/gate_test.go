package tokenauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinship-dev/kinship/internal/tokenauth"
)

// reviewer knows the tokens "reader" and "stranger", and that readers may get /metrics.
type reviewer struct {
	reviews int
	err     error
}

// Authenticate implements tokenauth.Reviewer.
func (r *reviewer) Authenticate(_ context.Context, token string) (authenticationv1.UserInfo, bool, error) {
	r.reviews++
	if r.err != nil || (token != "reader" && token != "stranger") {
		return authenticationv1.UserInfo{}, false, r.err
	}
	return authenticationv1.UserInfo{Username: token}, true, nil
}

// MayAccess implements tokenauth.Reviewer.
func (r *reviewer) MayAccess(_ context.Context, user authenticationv1.UserInfo, verb, path string) (bool, error) {
	return user.Username == "reader" && verb == "get" && path == "/metrics", nil
}

// gate is a Gate in front of a handler that answers 200.
type gate struct {
	*reviewer
	http.Handler

	clock *testingclock.FakePassiveClock
	// from is the address of the client; empty means an address for documentation.
	from string
}

func newGate() gate {
	r, c := &reviewer{}, testingclock.NewFakePassiveClock(time.Now())
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return gate{r, tokenauth.New(r, c).Protect(logr.Discard(), next), c, ""}
}

// ask returns how a request is answered.
func (g gate) ask(method, path, authorization string) int {
	request := httptest.NewRequest(method, path, nil)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	if g.from != "" {
		request.RemoteAddr = g.from
	}
	recorder := httptest.NewRecorder()
	g.ServeHTTP(recorder, request)
	return recorder.Code
}

func TestGate(t *testing.T) {
	t.Parallel()
	g := newGate()
	for _, tt := range []struct {
		reason, method, path, authorization string
		want                                int
	}{
		{"a user with the right", "GET", "/metrics", "Bearer reader", 200},
		{"schemes have no case", "GET", "/metrics", "bearer reader", 200},
		{"no token", "GET", "/metrics", "", 401},
		{"an empty token", "GET", "/metrics", "Bearer ", 401},
		{"a password", "GET", "/metrics", "Basic cmVhZGVyOng=", 401},
		{"a token that nobody has", "GET", "/metrics", "Bearer nobody", 401},
		{"a token that is too long", "GET", "/metrics", "Bearer " + strings.Repeat("x", 20_000), 401},
		{"a user without the right", "GET", "/metrics", "Bearer stranger", 403},
		{"another verb", "POST", "/metrics", "Bearer reader", 403},
		{"another path", "GET", "/debug", "Bearer reader", 403},
	} {
		for _, again := range []string{"", ", again"} {
			if got := g.ask(tt.method, tt.path, tt.authorization); got != tt.want {
				t.Errorf("%s%s: %d, want %d", tt.reason, again, got, tt.want)
			}
		}
	}
	if g.reviews != 5 {
		t.Errorf("%d reviews of 5 different questions", g.reviews)
	}
}

// TestDecisionsEnd: a decision is kept for a while, and an error is not kept.
func TestDecisionsEnd(t *testing.T) {
	t.Parallel()
	g := newGate()
	step := func(after time.Duration, reason, token string, want, reviews int) {
		t.Helper()
		g.clock.SetTime(g.clock.Now().Add(after))
		if got := g.ask("GET", "/metrics", "Bearer "+token); got != want || g.reviews != reviews {
			t.Errorf("%s: %d after %d reviews, want %d after %d", reason, got, g.reviews, want, reviews)
		}
	}
	step(0, "asked", "reader", 200, 1)
	step(59*time.Second, "still allowed", "reader", 200, 1)
	step(time.Second, "asked again", "reader", 200, 2)
	step(0, "asked", "stranger", 403, 3)
	step(9*time.Second, "still denied", "stranger", 403, 3)
	step(time.Second, "asked again", "stranger", 403, 4)
	g.err = errors.New("no answer")
	step(time.Minute, "the API server does not answer", "reader", 500, 5)
	g.err = nil
	step(0, "it answers", "reader", 200, 6)
}

// TestFlood: a client with many made-up tokens causes only few reviews, and known clients are
// not refused.
func TestFlood(t *testing.T) {
	t.Parallel()
	g := newGate()
	if got := g.ask("GET", "/metrics", "Bearer reader"); got != 200 {
		t.Fatalf("answered with %d", got)
	}
	for i := range 1000 {
		g.ask("GET", "/metrics", "Bearer "+strconv.Itoa(i))
	}
	if g.reviews > 20 {
		t.Errorf("%d reviews in a moment", g.reviews)
	}
	if got := g.ask("GET", "/metrics", "Bearer another"); got != http.StatusTooManyRequests {
		t.Errorf("one more is answered with %d", got)
	}
	if got := g.ask("GET", "/metrics", "Bearer reader"); got != 200 {
		t.Errorf("who is known is answered with %d", got)
	}
	g.from = "192.0.2.99:1"
	if got := g.ask("GET", "/metrics", "Bearer reader-elsewhere"); got != http.StatusUnauthorized {
		t.Errorf("a token from another address is answered with %d", got)
	}
	g.from = ""
	g.clock.SetTime(g.clock.Now().Add(time.Minute)) // The decision has ended, the limit is used up again.
	for i := range 1000 {
		g.ask("GET", "/metrics", "Bearer late"+strconv.Itoa(i))
	}
	if got := g.ask("GET", "/metrics", "Bearer reader"); got != 200 {
		t.Errorf("who was known a minute ago is answered with %d", got)
	}
	for i := range 2000 { // As many tokens as arrive in minutes: they are not kept for ever.
		g.clock.SetTime(g.clock.Now().Add(time.Second))
		if got := g.ask("GET", "/metrics", "Bearer "+strconv.Itoa(i)); got != http.StatusUnauthorized {
			t.Fatalf("after a pause it is answered with %d", got)
		}
	}
}
