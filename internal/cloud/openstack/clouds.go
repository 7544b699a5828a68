package openstack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// refusalLasts is how long [Clouds.Scope] does not log in again after the cloud refused the
// credentials (401) or did not answer. Changed credentials have another key, and are tried at once.
const refusalLasts = 10 * time.Second

// Options of all clouds of one process. [New] sets defaults for QPS, Burst, Calls, Timeout, Login
// and MaxScopes.
type Options struct {
	// QPS is the number of calls per second to one cloud, 50 when 0. Burst is the number of
	// calls at once, 100 when 0.
	QPS   float64
	Burst int
	// Calls is how many calls of one tenant to one service of a cloud are under way at once, 8
	// when less than 1. All tenants together have a quarter more. Uploads of images, which take
	// long, do not count. WithTenant names the tenant of a call.
	Calls int64
	// Timeout bounds a call whose context has no deadline, 60 s when 0.
	Timeout time.Duration
	// Login bounds a login, 10 s when 0: nothing else of a cloud can be asked before.
	Login time.Duration
	// MaxScopes is how many scopes are kept, 100 when 0. The scope that was unused for the
	// longest time is dropped.
	MaxScopes int
	// Authorities are PEM certificates to trust where a Secret has no cacert.
	Authorities []byte
	// Hosts are patterns, as in path.Match, of the hosts that may be called; without
	// any, all may.
	Hosts []string
	// Open are ranges of addresses that may be called although they are closed by default,
	// such as loopback, link-local and multicast addresses. Addresses from which machines get
	// their own credentials are never open. Closed are ranges that are closed in addition,
	// unless they are in Open. The rules hold for the address that a name resolved to.
	Open, Closed []netip.Prefix
	// Pods returns further closed ranges: spec.podCIDRs of the cluster's Nodes. Pods is called
	// before each connection, since the ranges change when a Node is added. Pods may be nil.
	Pods func() []netip.Prefix
	// Observe is called by transport.report after every HTTP request, and must not block.
	Observe func(Call)
	// UserAgent is put in front of gophercloud's.
	UserAgent string
}

// Clouds hands out a [Scope] for each [Cloud], and logs in once for all callers. Clouds is safe for
// concurrent use.
type Clouds struct {
	options Options
	logins  singleflight.Group
	purse   *semaphore.Weighted // the bytes that all accounts share

	mu       sync.Mutex
	closed   bool
	scopes   map[string]*Scope
	refused  map[string]refusal
	limiters map[string]*limiter
}

type refusal struct {
	err   error
	until time.Time
}

// New returns Clouds without scopes. New sends no request.
func New(options Options) *Clouds {
	options.QPS = orDefault(options.QPS, 50)
	options.Burst = orDefault(options.Burst, 100)
	if options.Calls < 1 {
		options.Calls = 8
	}
	options.Timeout = orDefault(options.Timeout, time.Minute)
	options.Login = orDefault(options.Login, 10*time.Second)
	options.MaxScopes = orDefault(options.MaxScopes, 100)
	return &Clouds{
		options: options, purse: semaphore.NewWeighted(maxTogether), scopes: map[string]*Scope{},
		refused: map[string]refusal{}, limiters: map[string]*limiter{},
	}
}

// Scope returns the [Scope] of a cloud, logged in. Concurrent callers share one login, which goes
// on when the context of the first caller ends (context.WithoutCancel).
func (c *Clouds) Scope(ctx context.Context, cloud *Cloud) (*Scope, error) {
	if scope, err := c.known(cloud.key); scope != nil || err != nil {
		return scope, err
	}
	login := c.logins.DoChan(cloud.key, func() (any, error) {
		// Another login may have finished since the check above.
		if scope, err := c.known(cloud.key); scope != nil || err != nil {
			return scope, err
		}
		long, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Login)
		defer cancel()
		return c.login(long, cloud)
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-login:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*Scope), nil
	}
}

// Forget drops the [Scope] of a cloud whose Secret was deleted or changed. The next call of
// [Clouds.Scope] logs in anew; after a refusal, not before refusalLasts has passed.
func (c *Clouds) Forget(cloud *Cloud) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(cloud.key)
}

// Close drops every [Scope] with its connections. A Scope that is still in use works on: its
// connections close after the last call (transport.close).
func (c *Clouds) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for key := range c.scopes {
		c.drop(key)
	}
}

// drop removes the [Scope] of a [Cloud.Key], if Clouds has one, with its connections. The caller
// holds Clouds.mu.
func (c *Clouds) drop(key string) {
	if scope := c.scopes[key]; scope != nil {
		scope.wire.close()
	}
	delete(c.scopes, key)
}

// known returns the [Scope] of a [Cloud.Key], or the error of the last login (refusalLasts), or
// neither.
func (c *Clouds) known(key string) (*Scope, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refusal(key); err != nil {
		return nil, err
	}
	scope, ok := c.scopes[key]
	if !ok {
		return nil, nil
	}
	now := time.Now()
	// A [Scope] ends with its token (Scope.renew): the next Scope reads the service catalog anew.
	if now.After(scope.renew) {
		c.drop(key)
		return nil, nil
	}
	scope.used = now
	return scope, nil
}

// refusal returns the error of the last login with a [Cloud.Key], if the login failed less than
// refusalLasts ago.
func (c *Clouds) refusal(key string) error {
	r, ok := c.refused[key]
	if ok && time.Now().Before(r.until) {
		return r.err
	}
	delete(c.refused, key)
	return nil
}

// loginError is a failed login. OpenStack's own words do not say at which cloud.
type loginError struct {
	Address string // of the cloud, without secrets
	Err     error
}

// Error implements error.
func (e *loginError) Error() string { return e.place() + ": " + e.Err.Error() }

// Unwrap returns why the login failed.
func (e *loginError) Unwrap() error { return e.Err }

func (e *loginError) place() string { return "log in to " + e.Address }

// refuse returns the error of a failed login. The error is remembered for refusalLasts if the
// credentials were refused, because each try counts against the account, or if no answer came in
// time, because each try occupies a worker that other clouds need.
func (c *Clouds) refuse(cloud *Cloud, err error) error {
	err = &loginError{cloud.address(), err}
	if Classify(err).Class == Unauthorized || isTimeout(err) {
		c.sweep()
		c.drop(cloud.key)
		c.refused[cloud.key] = refusal{err: err, until: time.Now().Add(refusalLasts)}
	}
	return err
}

// again logs in anew for a [Scope] whose token was refused (401), unless Clouds.refusal knows that
// the credentials were refused too: gophercloud calls again for each call of the Scope.
func (c *Clouds) again(ctx context.Context, cloud *Cloud, login func(context.Context) error) error {
	c.mu.Lock()
	err := c.refusal(cloud.key)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Login)
	defer cancel()
	if err = login(ctx); err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refuse(cloud, err)
}

func (c *Clouds) login(ctx context.Context, cloud *Cloud) (*Scope, error) {
	scope, err := c.authenticate(ctx, cloud)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		return nil, c.refuse(cloud, err)
	}
	if c.closed {
		scope.wire.close()
		return scope, nil
	}
	scope.used = time.Now()
	c.scopes[cloud.key] = scope
	if len(c.scopes) > c.options.MaxScopes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(c.scopes)), func(a, b string) int {
			return c.scopes[a].used.Compare(c.scopes[b].used)
		})
		c.drop(oldest)
	}
	return scope, nil
}

// sweep drops entries of Clouds.refused that are older than refusalLasts: a [Cloud.Key] that no
// object uses any more must not stay in memory.
func (c *Clouds) sweep() {
	now := time.Now()
	maps.DeleteFunc(c.refused, func(_ string, r refusal) bool { return now.After(r.until) })
}

func (c *Clouds) authenticate(ctx context.Context, cloud *Cloud) (*Scope, error) {
	wire, err := c.transport(cloud)
	if err != nil {
		return nil, err
	}
	scope, err := c.authenticateBy(ctx, cloud, wire)
	if err != nil {
		wire.close() // The scope is not shared yet.
		return nil, err
	}
	return scope, nil
}

func (c *Clouds) authenticateBy(ctx context.Context, cloud *Cloud, wire *transport) (*Scope, error) {
	provider, err := openstack.NewClient(cloud.options.IdentityEndpoint)
	if err != nil {
		return nil, err
	}
	provider.HTTPClient = http.Client{
		Transport: judged{wire, c.options.Hosts},
		// No OpenStack service redirects its clients, and the credentials in a request are not
		// for another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.options.UserAgent != "" {
		provider.UserAgent.Prepend(c.options.UserAgent)
	}
	wire.know("identity", provider.IdentityBase)
	// The URL of v3 is used directly: discovery of versions would be one more call.
	options := cloud.options
	if err := openstack.AuthenticateV3(ctx, provider, &options, gophercloud.EndpointOpts{}); err != nil {
		return nil, err
	}
	if login := provider.ReauthFunc; login != nil {
		provider.ReauthFunc = func(ctx context.Context) error { return c.again(ctx, cloud, login) }
	}
	scope := &Scope{cloud: cloud, provider: provider, wire: wire}
	return scope, scope.readToken()
}

func (c *Clouds) transport(cloud *Cloud) (*transport, error) {
	authorities := cloud.authorities
	if len(authorities) == 0 {
		authorities = c.options.Authorities
	}
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: cloud.insecure, // the Secret says `verify: false`
	}
	if len(authorities) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, errors.New("no certificate authority could be read")
		}
	}
	wire := base(c.gate().against)
	wire.TLSClientConfig = config
	wire.MaxIdleConnsPerHost, wire.MaxResponseHeaderBytes = 16, maxHeader
	wire.ResponseHeaderTimeout = 5 * time.Minute // an upload's answer comes after its work
	return &transport{
		base: wire, limiter: c.limiter(cloud.Place()), timeout: c.options.Timeout,
		observe: c.options.Observe, cloud: cloud.address(),
	}, nil
}

// limiter returns the limiter of a [Cloud.Place]. Of more than [Options.MaxScopes] limiters,
// Clouds.spare drops one that no [Scope] uses, since the author of a Secret can make up any number
// of places.
func (c *Clouds) limiter(place string) *limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.limiters[place]
	if !ok {
		l = &limiter{
			pace: rate.NewLimiter(rate.Limit(c.options.QPS), c.options.Burst),
			most: c.options.Calls,
		}
		c.limiters[place] = l
	}
	l.asked = time.Now()
	if len(c.limiters) > c.options.MaxScopes {
		c.spare(l)
	}
	return l
}

// spare drops the limiter that no [Scope] uses and that has the oldest limiter.asked, but not the
// limiter that the caller has just made (but).
func (c *Clouds) spare(but *limiter) {
	needed := map[*limiter]bool{but: true}
	for _, scope := range c.scopes {
		needed[scope.wire.limiter] = true
	}
	oldest := ""
	for place, l := range c.limiters {
		if !needed[l] && (oldest == "" || l.asked.Before(c.limiters[oldest].asked)) {
			oldest = place
		}
	}
	delete(c.limiters, oldest)
}

// readToken reads the expiry and the project of a token.
func (s *Scope) readToken() error {
	result, ok := s.provider.GetAuthResult().(interface {
		ExtractToken() (*tokens.Token, error)
		ExtractProject() (*tokens.Project, error)
		ExtractUser() (*tokens.User, error)
	})
	if !ok {
		return errors.New("read the token: unknown answer")
	}
	token, err := result.ExtractToken()
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	left := time.Until(token.ExpiresAt)
	s.renew = time.Now().Add(left - min(left/10, time.Minute))
	if project, err := result.ExtractProject(); err == nil && project != nil {
		s.ProjectID = project.ID
	}
	if user, err := result.ExtractUser(); err == nil && user != nil {
		s.UserID = user.ID
	}
	return nil
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
