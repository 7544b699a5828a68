package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestLossy makes one in ten requests of the operator fail: with a conflict, too many requests,
// or a server error after which the request may have been carried out. In the end the work is
// done, with less than twice the requests.
func TestLossy(t *testing.T) {
	p := newProxy(t)
	operator.Start(t, p.Through)
	n := sized(50)

	clean := p.live(t, n)
	injected := p.lossy(rand.New(rand.NewPCG(1, 2)))
	lossy := p.live(t, n)
	p.Set(pass)
	t.Logf("%d Usages took %d requests, with %s failing %d", n, clean, injected, lossy)
	if lossy >= 2*clean {
		t.Errorf("with one request in ten failing there were %d requests, without %d", lossy, clean)
	}
}

// TestRefusedWrites makes every write of the operator fail until each Usage was tried a few
// times. The operator repeats with growing pauses, and finishes when writes succeed again.
func TestRefusedWrites(t *testing.T) {
	p := newProxy(t)
	operator.Start(t, p.Through)
	s := newScene(t)
	n := sized(20)
	s.pairs(n)
	var refused atomic.Int64
	p.Set(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodPatch {
			return false
		}
		refused.Add(1)
		operator.Answer(w, http.StatusInternalServerError, "InternalError")
		return true
	})
	for i := range n {
		s.create(s.usage(i))
	}
	testenv.Eventually(t, func() error {
		if have, want := refused.Load(), int64(5*n); have < want {
			return fmt.Errorf("%d writes were refused, want %d", have, want)
		}
		return nil
	})
	p.Set(pass)
	s.allReady(n)
	for i := range n {
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, s.noneLeft)
}

// pass meddles with nothing.
func pass(http.ResponseWriter, *http.Request, http.Handler) bool { return false }

// live takes n Usages through their lives and returns the number of requests
// that the operator sent.
func (p *proxy) live(t *testing.T, n int) int64 {
	t.Helper()
	before := p.Requests.Load()
	s := newScene(t)
	s.pairs(n)
	for i := range n {
		// A failed review refuses the author, who must try again.
		if err := s.insist(func(ctx context.Context) error { return s.c.Create(ctx, s.usage(i)) }); err != nil {
			t.Fatal(err)
		}
	}
	s.allReady(n)
	for i := range n {
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.EventuallyWithin(t, 2*recovery, s.noneLeft)
	for i := range n {
		if err := s.c.Delete(t.Context(), s.used(i)); err != nil {
			t.Errorf("used-%d can't be deleted although nothing uses it: %v", i, err)
		}
	}
	return p.Requests.Load() - before
}

// failures counts the injected failures.
type failures struct {
	mu     sync.Mutex
	counts map[string]int
}

// String implements fmt.Stringer.
func (f *failures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.counts)
}

// lossy begins to fail one in ten requests.
func (p *proxy) lossy(random *rand.Rand) *failures {
	f := &failures{counts: map[string]int{}}
	p.Set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		f.mu.Lock()
		fail, kind := random.IntN(10) == 0, random.IntN(4)
		kinds := []string{"409", "429", "500 before", "500 after"}
		if fail {
			f.counts[kinds[kind]]++
		}
		f.mu.Unlock()
		switch {
		case !fail:
			return false
		case kind == 0 && (r.Method == http.MethodPatch || r.Method == http.MethodPut):
			operator.Answer(w, http.StatusConflict, "Conflict")
		case kind <= 1:
			w.Header().Set("Retry-After", "1")
			operator.Answer(w, http.StatusTooManyRequests, "TooManyRequests")
		case kind == 3 && r.URL.Query().Get("watch") == "":
			next.ServeHTTP(swallow{http.Header{}}, r)
			operator.Answer(w, http.StatusInternalServerError, "InternalError")
		default:
			operator.Answer(w, http.StatusInternalServerError, "InternalError")
		}
		return true
	})
	return f
}
