package emulator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// region and password of the clouds in CloudsYAML.
const (
	region   = "RegionOne"
	password = "secret"
)

// Options of an emulated cloud. The zero value is good for tests.
type Options struct {
	// Listen is the address to listen on. Empty means 127.0.0.1:0, a free port of the loopback
	// interface.
	Listen string
	// Certificate makes the server serve HTTPS.
	Certificate *tls.Certificate
	// Latency is added to every call.
	Latency time.Duration
	// TokenLife is how long a token lasts, a day when 0.
	TokenLife time.Duration
	// BuildTime is how long servers and volumes take to become usable, 50 ms when 0; below 0
	// they are usable at once. Images take as long as their download.
	BuildTime time.Duration
	// Empty leaves out the external network public, the flavors m1.tiny and
	// m1.small and the image cirros.
	Empty bool
}

// Server is a running cloud.
type Server struct {
	options Options
	url     string
	server  *http.Server
	mux     *http.ServeMux
	// named are the resources by their tables.
	named map[string]*resource

	// mu guards the state of the cloud.
	mu      sync.Mutex
	objects store
	tokens  map[string]*token
	pending []transition
	// downloads end the downloads under way, by image; nil after Close.
	downloads map[string]context.CancelFunc
	// importTurn holds imports until the channel is closed; nil holds none.
	importTurn chan struct{}
	background sync.WaitGroup

	// control guards the knobs.
	control sync.Mutex
	faults  []*Fault
	latency time.Duration
	cleared chan struct{} // is closed by ClearFaults
	calls   map[Call]int  // that came
	done    map[Call]int  // that were carried out
}

// Start starts a cloud.
func Start(options Options) (*Server, error) {
	if options.TokenLife == 0 {
		options.TokenLife = 24 * time.Hour
	}
	if options.BuildTime == 0 {
		options.BuildTime = 50 * time.Millisecond
	}
	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	address := "http://" + listener.Addr().String()
	if options.Certificate != nil {
		address = "https://" + listener.Addr().String()
		listener = tls.NewListener(listener, &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*options.Certificate},
		})
	}
	s := &Server{
		options: options, latency: options.Latency, url: address,
		mux: http.NewServeMux(), named: map[string]*resource{},
		objects: store{}, tokens: map[string]*token{}, calls: map[Call]int{}, done: map[Call]int{},
		cleared: make(chan struct{}), downloads: map[string]context.CancelFunc{},
	}
	s.route()
	s.seed()
	s.server = &http.Server{Handler: s.mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // Close ends Serve.
	return s, nil
}

// URL returns the address of the server.
func (s *Server) URL() string { return s.url }

// Close ends the server and frees its state.
func (s *Server) Close() error {
	err := s.server.Close()
	s.stopDownloads()
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the emulator: %w", err)
	}
	return nil
}

// CloudsYAML returns a clouds.yaml with two clouds: openstack, where the user demo
// is a member of the project demo, and openstack-admin.
func (s *Server) CloudsYAML() string {
	return "clouds:\n" + s.entry("openstack", "demo", "demo") + s.entry("openstack-admin", "admin", "admin")
}

func (s *Server) entry(name, user, project string) string {
	return fmt.Sprintf(`  %s:
    region_name: %s
    identity_api_version: 3
    auth_type: password
    auth:
      auth_url: %s/identity/v3
      username: %s
      password: %s
      project_name: %s
      user_domain_name: Default
      project_domain_name: Default
`, name, region, s.url, user, password, project)
}

// add registers resources (Server.register) and records each in Server.named, for resources that
// refer to others.
func (s *Server) add(resources ...*resource) {
	for _, res := range resources {
		s.named[res.table] = res
		s.register(res)
	}
}

// known returns an object that a request names, or a 404 in its kind's words.
func (rq *request) known(table, id string) (object, error) { return rq.cloud.named[table].find(rq, id) }

func (s *Server) route() {
	s.controls()
	s.keystone()
	s.neutron()
	s.glance()
	s.nova()
	s.cinder()
	s.manila()
}

// missing answers 404, in the form of the service's errors, for every path of a service that has no
// route.
func (s *Server) missing(svc *service) {
	s.open(svc, svc.base+"/", func(rq *request) (any, error) {
		return nil, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found: %s", rq.URL.Path)
	})
}

// stamp prints a time as a service does.
func stamp(svc *service, t time.Time) string {
	if svc.name == "volume" || svc.name == "share" {
		return t.Format("2006-01-02T15:04:05.000000")
	}
	return t.Format("2006-01-02T15:04:05Z")
}

// maxUpload bounds the data of an image.
const maxUpload = 64 << 20
