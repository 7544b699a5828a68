package tokenauth

import (
	"context"
	"crypto/sha256"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// How long the gate keeps an answer of the API server. A withdrawn right is noticed after
// allowedFor, a granted right after deniedFor.
const (
	allowedFor = time.Minute
	deniedFor  = 10 * time.Second
	// trustedFor is how long a token that was allowed is reviewed again without a limit.
	trustedFor = time.Hour
)

// Bounds on the memory and the requests that callers can cost.
const (
	// maxDecisions is how many decisions are kept.
	maxDecisions = 1000
	// maxToken is the largest accepted token in bytes. A ServiceAccount token has about 1 kB.
	maxToken = 16 << 10
	// sourceRate is how many tokens of one address are reviewed per second, after a burst.
	sourceRate, sourceBurst = 10, 20
	// totalRate is how many tokens of all addresses are reviewed per second, after a burst.
	totalRate, totalBurst = 50, 100
	// maxSources is how many addresses are counted separately.
	maxSources = 1000
	// reviewTimeout is how long the API server may take.
	reviewTimeout = 10 * time.Second
)

// Reviewer asks the API server.
type Reviewer interface {
	// Authenticate returns the user of a token. A token that no user has is not authenticated,
	// which is no error.
	Authenticate(ctx context.Context, token string) (user authenticationv1.UserInfo, authenticated bool, err error)
	// MayAccess reports whether a user has a verb on the path of a non-resource URL.
	MayAccess(ctx context.Context, user authenticationv1.UserInfo, verb, path string) (bool, error)
}

// Gate passes requests whose bearer token has the right to the path. New makes a Gate.
type Gate struct {
	reviewer Reviewer
	clock    clock.PassiveClock
	total    *rate.Limiter
	sources  locked.Map[string, *rate.Limiter] // by address
	// decisions has a decision for each question. Of more than maxDecisions, it drops the one that was
	// not used for the longest time.
	decisions *cache.LRUExpireCache
}

// question is a question to the API server, without the token itself.
type question struct {
	token      [sha256.Size]byte
	verb, path string
}

// decision is the status to answer with, and until when.
type decision struct {
	status int
	until  time.Time
	// trusted is until when the token is reviewed again without a limit.
	trusted time.Time
}

// New returns a gate without kept decisions.
func New(reviewer Reviewer, c clock.PassiveClock) *Gate {
	return &Gate{
		reviewer: reviewer, clock: c, total: rate.NewLimiter(totalRate, totalBurst),
		decisions: cache.NewLRUExpireCacheWithClock(maxDecisions, c),
	}
}

// Protect returns a handler that answers 401 to a request without a valid token, answers
// 403 to a user who lacks the right, and passes every other request to next.
func (g *Gate) Protect(log logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := g.decide(r)
		if err != nil {
			log.Error(err, "Review the token of a request", "path", r.URL.Path)
		}
		switch status {
		case http.StatusOK:
			next.ServeHTTP(w, r)
			return
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		case http.StatusTooManyRequests:
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, http.StatusText(status), status)
	})
}

// decide returns the status to answer with.
func (g *Gate) decide(r *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return http.StatusUnauthorized, nil
	}
	q := question{sha256.Sum256([]byte(token)), strings.ToLower(r.Method), r.URL.Path}
	status, trusted := g.remembered(q)
	if status != 0 {
		return status, nil
	}
	if !trusted && !g.mayAsk(r.RemoteAddr) {
		return http.StatusTooManyRequests, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), reviewTimeout)
	defer cancel()
	status, err := g.review(ctx, token, q)
	if err != nil {
		return http.StatusInternalServerError, err // An error is no decision.
	}
	g.record(q, status)
	return status, nil
}

// review asks the API server.
func (g *Gate) review(ctx context.Context, token string, q question) (int, error) {
	user, authenticated, err := g.reviewer.Authenticate(ctx, token)
	if err != nil {
		return 0, err
	}
	if !authenticated {
		return http.StatusUnauthorized, nil
	}
	may, err := g.reviewer.MayAccess(ctx, user, q.verb, q.path)
	switch {
	case err != nil:
		return 0, err
	case !may:
		return http.StatusForbidden, nil
	default:
		return http.StatusOK, nil
	}
}

// remembered returns the status of a kept decision that is still valid, or 0, and whether the
// token was allowed within trustedFor.
func (g *Gate) remembered(q question) (status int, trusted bool) {
	known, ok := g.decisions.Get(q)
	if !ok {
		return 0, false
	}
	now, d := g.clock.Now(), known.(decision)
	if now.Before(d.until) {
		return d.status, true
	}
	return 0, now.Before(d.trusted)
}

// mayAsk reports whether a token of an address may be reviewed now. Addresses have limits of
// their own, so that a Pod that makes up tokens does not keep Prometheus out.
func (g *Gate) mayAsk(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if _, known := g.sources.Load(host); !known && g.sources.Len() >= maxSources {
		g.sources.DeleteFunc(func(string, *rate.Limiter) bool { return true })
	}
	var source *rate.Limiter
	g.sources.Update(host, func(known *rate.Limiter, ok bool) (*rate.Limiter, bool) {
		if source = known; !ok {
			source = rate.NewLimiter(sourceRate, sourceBurst)
		}
		return source, true
	})
	now := g.clock.Now()
	return source.AllowN(now, 1) && g.total.AllowN(now, 1)
}

// record records a decision until it is neither valid nor trusted.
func (g *Gate) record(q question, status int) {
	now := g.clock.Now()
	if status == http.StatusOK {
		g.decisions.Add(q, decision{status, now.Add(allowedFor), now.Add(trustedFor)}, trustedFor)
		return
	}
	g.decisions.Add(q, decision{status: status, until: now.Add(deniedFor)}, deniedFor)
}
