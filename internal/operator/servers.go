package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/internal/listen"
	"github.com/kinship-dev/kinship/internal/options"
)

// server is an HTTP server beside the webhooks. Its connections are bounded as those of the webhooks are: any client in
// the cluster may reach the ports.
type server struct {
	name, address string
	tls           *tls.Config   // nil means no TLS
	answer        time.Duration // how long an answer may take; zero means the bound of listen.NewServer
}

// sideConnections bounds the connections of each server beside the webhooks: the kubelet and a few Prometheus servers
// use one each.
const sideConnections = 64

// add opens the port, and adds the server to the manager.Manager.
func (s server) add(ctx context.Context, mgr manager.Manager, handler http.Handler) error {
	tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", s.name, err)
	}
	bounded := listen.NewServer(handler)
	if s.answer != 0 {
		bounded.WriteTimeout = s.answer
	}
	err = mgr.Add(&manager.Server{
		Name: s.name, Server: bounded,
		Listener: listen.Wrap(ctx, tcp, listen.Limits{Connections: sideConnections, TLS: s.tls}),
	})
	if err != nil {
		return fmt.Errorf("add server of %s: %w", s.name, err)
	}
	return nil
}

// profileTime is how long a profile may take.
const profileTime = 5 * time.Minute

// addProfiles adds the server of --pprof-bind-address.
func addProfiles(ctx context.Context, o options.Options, mgr manager.Manager) error {
	if o.ProfileAddress == "" || o.ProfileAddress == "0" {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return server{name: "profiles", address: o.ProfileAddress, answer: profileTime}.add(ctx, mgr, mux)
}

// probed is a manager.Manager whose checks of health and readiness are served by a server.
type probed struct {
	manager.Manager

	health, ready checks
}

// addProbes returns a manager.Manager with the server of --health-probe-bind-address.
func addProbes(ctx context.Context, o options.Options, mgr manager.Manager) (manager.Manager, error) {
	p := &probed{Manager: mgr}
	if err := p.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if o.HealthAddress == "" || o.HealthAddress == "0" {
		return p, nil
	}
	mux := http.NewServeMux()
	for path, checks := range map[string]*checks{"/healthz": &p.health, "/readyz": &p.ready} {
		mux.Handle(path, http.StripPrefix(path, checks))
		mux.Handle(path+"/", http.StripPrefix(path, checks))
	}
	return p, server{name: "probes", address: o.HealthAddress}.add(ctx, mgr, mux)
}

// AddHealthzCheck implements manager.Manager.
func (p *probed) AddHealthzCheck(name string, check healthz.Checker) error {
	return p.health.add(name, check)
}

// AddReadyzCheck implements manager.Manager.
func (p *probed) AddReadyzCheck(name string, check healthz.Checker) error {
	return p.ready.add(name, check)
}

// checks are checks by name. The zero value is ready to use.
type checks struct {
	mu     sync.Mutex
	byName map[string]healthz.Checker
}

func (c *checks) add(name string, check healthz.Checker) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName[name] != nil {
		return fmt.Errorf("the check %s is there already", name)
	}
	if c.byName == nil {
		c.byName = map[string]healthz.Checker{}
	}
	c.byName[name] = check
	return nil
}

// ServeHTTP answers as healthz.Handler: 200 if all checks succeed.
func (c *checks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	now := maps.Clone(c.byName)
	c.mu.Unlock()
	(&healthz.Handler{Checks: now}).ServeHTTP(w, r)
}
