package openstack

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/kinship-dev/kinship/internal/cloud/pause"
	"github.com/kinship-dev/kinship/pkg/locked"
)

// maxPatience is how long limiter.wait waits for a cloud that asked for a pause (Retry-After). A
// longer pause fails the call with throttledError, so that the worker is free for other objects.
const maxPatience = 2 * time.Second

// Call is one HTTP request to a cloud, for the counters and histograms of [Options.Observe].
type Call struct {
	// Cloud is the identity endpoint (auth_url), without a user or a password.
	Cloud string
	// Service is network, compute, image, identity, volume or share, or discovery for the first
	// call to a service.
	Service string
	Method  string
	// Resource is the collection in the path, such as ports in /v2.0/ports/ID.
	Resource string
	// Status is 0 when there was no answer.
	Status   int
	Duration time.Duration
}

// throttledError says that a cloud asked to be left alone for longer than a call
// waits.
type throttledError struct {
	// After is when to come back.
	After time.Duration
}

// Error says when to come back.
func (e *throttledError) Error() string {
	return fmt.Sprintf("the cloud asked for a pause of %s", e.After.Round(time.Second))
}

// limiter paces all calls to one [Cloud.Place]. A pause that the cloud asks for (Retry-After) holds
// for the tenant whose call was refused ([WithTenant]), and not for other tenants.
type limiter struct {
	pace *rate.Limiter
	// most is [Options.Calls], the number of calls to one service that may be under way at once.
	// More calls would last longer, and meet each other in the service's database.
	most int64
	// asked is the time of the last login there; guarded by Clouds.mu.
	asked time.Time

	until    locked.Map[string, time.Time] // by tenant
	underway locked.Map[string, *slots]    // by service
}

// enter waits for one of the slots of a service, and returns the function that frees the slot
// (slots.release). Each service has its own slots, so a service that hangs holds up no other
// service.
func (l *limiter) enter(ctx context.Context, service string) (leave func(), err error) {
	var underway *slots
	l.underway.Update(service, func(known *slots, ok bool) (*slots, bool) {
		if underway = known; !ok {
			underway = newSlots(int(l.most))
		}
		return underway, true
	})
	tenant := tenantOf(ctx)
	if err := underway.acquire(ctx, tenant); err != nil {
		return nil, err
	}
	return func() { underway.release(tenant) }, nil
}

func (l *limiter) wait(ctx context.Context) error {
	pause := time.Until(l.until.Get(tenantOf(ctx)))
	if pause > maxPatience {
		return &throttledError{After: pause}
	}
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
	return l.pace.Wait(ctx)
}

func (l *limiter) pauseFor(ctx context.Context, d time.Duration) {
	now := time.Now()
	l.until.DeleteFunc(func(_ string, until time.Time) bool { return now.After(until) })
	l.until.Update(tenantOf(ctx), func(until time.Time, _ bool) (time.Time, bool) {
		if later := now.Add(d); later.After(until) {
			until = later
		}
		return until, true
	})
}

// transport is between gophercloud and the network.
type transport struct {
	base    *http.Transport
	limiter *limiter
	timeout time.Duration
	observe func(Call)
	cloud   string

	services locked.Map[string, string] // by the beginning of their URLs
	underway atomic.Int64               // calls whose answers are not closed yet
	closed   atomic.Bool
}

// PathError says that a request was not sent, because its path has a segment "." or "..".
type PathError struct {
	// Path is the path of the request.
	Path string
}

// Error implements error.
func (e *PathError) Error() string {
	return fmt.Sprintf("no request is sent to %q: a part of the path is . or ..", e.Path)
}

// checkPath refuses the segments "." and "..", which url.PathEscape leaves as they are. A server drops such a segment
// with the one before, and the request would reach another resource: DELETE /flavors/ID/os-extra_specs/.. would
// delete the Flavor. Servers decode %2F before they do so, and so does checkPath.
func checkPath(address *url.URL) error {
	for segment := range strings.SplitSeq(address.Path, "/") {
		if segment == "." || segment == ".." {
			return &PathError{address.Path}
		}
	}
	return nil
}

// RoundTrip waits for its turn, then sends a request. The deadline counts from the sending.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := checkPath(request.URL); err != nil {
		return nil, err
	}
	ctx := request.Context()
	if !isUpload(request) {
		service, _ := t.split(request.URL)
		leave, err := t.limiter.enter(ctx, service)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	ctx, cancel := t.bound(ctx, request)
	if err := t.limiter.wait(ctx); err != nil {
		cancel()
		return nil, err
	}
	t.underway.Add(1)
	end := sync.OnceFunc(func() { cancel(); t.end() })
	start := time.Now()
	response, err := t.base.RoundTrip(request.WithContext(ctx))
	t.report(request, response, time.Since(start))
	if err != nil {
		end()
		return nil, err
	}
	if after := retryAfter(response); after > 0 {
		t.limiter.pauseFor(request.Context(), after)
	}
	response.Body = bounded(request, response, end)
	return response, nil
}

// end drops the scope's idle connections if no caller comes back to them. A transport keeps
// connections of calls that begin after CloseIdleConnections.
func (t *transport) end() {
	if t.underway.Add(-1) == 0 && t.closed.Load() {
		t.base.CloseIdleConnections()
	}
}

// close drops idle connections, now and after the last call (transport.end). A caller that still
// has the [Scope] can go on.
func (t *transport) close() {
	t.closed.Store(true)
	t.base.CloseIdleConnections()
}

// bound adds [Options.Timeout] to a request without a deadline, such as gophercloud's discovery,
// which has no context.Context. An upload (isUpload) has no deadline.
func (t *transport) bound(ctx context.Context, request *http.Request) (context.Context, context.CancelFunc) {
	_, has := ctx.Deadline()
	if has || isUpload(request) {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, t.timeout)
}

func isUpload(request *http.Request) bool {
	return request.Header.Get("Content-Type") == "application/octet-stream"
}

// know makes calls to an endpoint count as calls to a service in [Call.Service] and in
// limiter.underway.
func (t *transport) know(service, endpoint string) {
	if u, err := url.Parse(endpoint); err == nil {
		endpoint = begin(u)
	}
	t.services.Store(endpoint, service)
}

func (t *transport) report(request *http.Request, response *http.Response, took time.Duration) {
	if t.observe == nil {
		return
	}
	call := Call{Cloud: t.cloud, Method: request.Method, Duration: took}
	if response != nil {
		call.Status = response.StatusCode
	}
	call.Service, call.Resource = t.split(request.URL)
	t.observe(call)
}

// split returns the service and the collection that a URL leads to.
func (t *transport) split(address *url.URL) (service, resource string) {
	text, longest := begin(address), 0
	for prefix, name := range t.services.All() {
		if strings.HasPrefix(text, prefix) && len(prefix) > longest {
			service, longest = name, len(prefix)
		}
	}
	if service == "" {
		return "discovery", "" // The first question to a service that isn't known yet.
	}
	for part := range strings.SplitSeq(text[longest:], "/") {
		if part != "" && !version.MatchString(part) {
			return service, part
		}
	}
	return service, ""
}

// begin returns a URL without user, password and query.
func begin(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path }

var version = regexp.MustCompile(`^v[0-9.]+$`)

// retryAfter returns the pause that an answer asks for, or 0.
func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	return parseRetryAfter(response.Header)
}

// longestPause bounds the pauses that clouds ask for. After some minutes one call harms nobody,
// and the cloud may have been mistaken.
const longestPause = 5 * time.Minute

// parseRetryAfter returns the pause that an answer asks for, or 0.
func parseRetryAfter(header http.Header) time.Duration { return pause.After(header, longestPause) }
