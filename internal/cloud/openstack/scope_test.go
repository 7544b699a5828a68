package openstack

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fakeCloud is a cloud with a Neutron that counts its connections. A request for "slow" is not
// answered before the test allows it.
type fakeCloud struct {
	*httptest.Server

	t         *testing.T
	versions  atomic.Int64 // how often Neutron was asked for its versions
	entered   chan struct{}
	answer    chan struct{}
	connected atomic.Int64
	changed   chan struct{}
}

func newFakeCloud(t *testing.T) *fakeCloud {
	t.Helper()
	c := &fakeCloud{
		t: t, entered: make(chan struct{}), answer: make(chan struct{}), changed: make(chan struct{}, 1),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", c.login)
	mux.HandleFunc("GET /network/{$}", func(w http.ResponseWriter, _ *http.Request) {
		c.versions.Add(1)
		fmt.Fprint(w, `{"versions": [{"id": "v2.0", "status": "CURRENT"}]}`)
	})
	mux.HandleFunc("GET /network/v2.0/quick", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /network/v2.0/slow", func(http.ResponseWriter, *http.Request) {
		c.entered <- struct{}{}
		<-c.answer
	})
	c.Server = httptest.NewUnstartedServer(mux)
	c.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.connected.Add(1)
		case http.StateClosed:
			c.connected.Add(-1)
			select {
			case c.changed <- struct{}{}:
			default: // The test checks soon.
			}
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// login takes the password that is right.
func (c *fakeCloud) login(w http.ResponseWriter, r *http.Request) {
	if body, err := io.ReadAll(r.Body); err != nil || !bytes.Contains(body, []byte(`"right"`)) {
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"token": {"expires_at": %q, "catalog": [{"type": "network", "endpoints": [
  {"interface": "public", "url": "%s/network/"}]}]}}`, time.Now().Add(time.Hour).UTC().Format(time.RFC3339), c.URL)
}

// entry returns that of a clouds.yaml.
func (c *fakeCloud) entry(password string) *Cloud {
	c.t.Helper()
	text := fmt.Sprintf("clouds: {it: {auth: {auth_url: '%s/v3', username: me, password: %s, user_domain_name: Default}}}",
		c.URL, password)
	cloud, err := ParseCloud(map[string][]byte{CloudsKey: []byte(text)}, "it")
	if err != nil {
		c.t.Fatal(err)
	}
	return cloud
}

// scope logs in.
func (c *fakeCloud) scope(clouds *Clouds) *Scope {
	c.t.Helper()
	scope, err := clouds.Scope(c.t.Context(), c.entry("right"))
	if err != nil {
		c.t.Fatal(err)
	}
	return scope
}

// left waits until there are no connections any more.
func (c *fakeCloud) left() {
	c.t.Helper()
	late := time.After(10 * time.Second) // An idle connection would stay for 90.
	for c.connected.Load() > 0 {
		select {
		case <-c.changed:
		case <-late:
			c.t.Fatalf("%d connections are left", c.connected.Load())
		}
	}
}

// call asks Neutron for something.
func (c *fakeCloud) call(scope *Scope, what string) {
	c.t.Helper()
	neutron, err := scope.Network(c.t.Context())
	if err != nil {
		c.t.Error(err)
		return
	}
	response, err := neutron.Get(c.t.Context(), neutron.ServiceURL(what), nil, nil)
	if err != nil {
		c.t.Error(err)
		return
	}
	if err := response.Body.Close(); err != nil {
		c.t.Error(err)
	}
}

// TestDiscoveredOnce: a caller that did not find a service, and repeats while another caller
// has found it, gets this service.
func TestDiscoveredOnce(t *testing.T) {
	t.Parallel()
	c, clouds := newFakeCloud(t), New(Options{Open: Loopback})
	t.Cleanup(clouds.Close)
	scope := c.scope(clouds)
	one, err := scope.connect(network)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := scope.connect(network); err != nil || other != one || c.versions.Load() != 1 {
		t.Errorf("asked for versions %d times, the same client: %t (%v)", c.versions.Load(), other == one, err)
	}
}

// TestNoConnectionIsLeft: the connections of a refused login, or of a scope that was dropped
// while in use, are closed when the last call has ended.
func TestNoConnectionIsLeft(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*fakeCloud, *Clouds){
		"a login that is refused": func(c *fakeCloud, clouds *Clouds) {
			if _, err := clouds.Scope(c.t.Context(), c.entry("wrong")); err == nil {
				c.t.Error("a wrong password is taken")
			}
		},
		"a login after all was closed": func(c *fakeCloud, clouds *Clouds) {
			clouds.Close()
			c.call(c.scope(clouds), "quick")
		},
		"discovery after all was closed": func(c *fakeCloud, clouds *Clouds) {
			scope := c.scope(clouds)
			clouds.Close()
			if _, err := scope.Network(c.t.Context()); err != nil {
				c.t.Error(err)
			}
		},
		"a call after the login was forgotten": func(c *fakeCloud, clouds *Clouds) {
			scope := c.scope(clouds)
			c.call(scope, "quick")
			clouds.Forget(scope.cloud)
			c.call(scope, "quick")
		},
		"a call from before, and one after that ends first": func(c *fakeCloud, clouds *Clouds) {
			scope := c.scope(clouds)
			var slow sync.WaitGroup
			slow.Go(func() { c.call(scope, "slow") })
			<-c.entered
			clouds.Close()
			c.call(scope, "quick")
			c.answer <- struct{}{}
			slow.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFakeCloud(t)
			use(c, New(Options{Open: Loopback}))
			c.left()
		})
	}
}
