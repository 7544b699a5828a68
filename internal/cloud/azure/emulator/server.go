package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options of an emulated cloud. The zero value is suitable for tests.
type Options struct {
	// Listen is the address for [Start]; a free port of 127.0.0.1 when empty.
	Listen string
	// Types are the types of the cloud; nil means Observed().
	Types Table
	// Subscriptions are the GUIDs of existing subscriptions; empty means all.
	Subscriptions []string
	// Latency is added to every request.
	Latency time.Duration
	// BuildTime is how long operations take instead of Flow.Takes; with a negative BuildTime,
	// operations end at once.
	BuildTime time.Duration
	// RetryAfter are the seconds in the header Retry-After of operations instead of
	// Flow.RetryAfter; with a negative RetryAfter, answers have no header Retry-After.
	RetryAfter int
	// PageSize is the length of a page of a list; 0 means 1000.
	PageSize int
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
	// Wait waits for Latency and for Fault.Delay, and returns an error if the context ends first.
	// With nil, the [Server] waits on a timer.
	Wait func(ctx context.Context, d time.Duration) error
}

// Server is an emulated cloud, as an http.Handler.
type Server struct {
	options Options
	types   Table
	knobs   *http.ServeMux

	// Start sets url and server.
	url    string
	server *http.Server

	// mu guards the state of the cloud.
	mu         sync.Mutex
	store      store
	operations map[string]*operation // by the lower-case paths of the addresses
	running    []*operation
	// deployments are the running deployments.
	deployments []*deployment
	ended       []string // keys of operations, the oldest first

	// control guards the knobs and counters.
	control  sync.Mutex
	faults   []*Fault
	latency  time.Duration
	calls    map[Call]int
	callsFor map[string]map[string]int // methods by the keys of ids
	refusals []Refusal
	refused  map[Reason]int
}

// New returns a cloud that serves as an http.Handler.
func New(options Options) *Server {
	if options.Types == nil {
		options.Types = Observed()
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Wait == nil {
		options.Wait = wait
	}
	if options.PageSize == 0 {
		options.PageSize = 1000
	}
	s := &Server{
		options: options, types: options.Types, latency: options.Latency, knobs: http.NewServeMux(),
		store: newStore(), operations: map[string]*operation{}, calls: map[Call]int{},
		callsFor: map[string]map[string]int{}, refused: map[Reason]int{},
	}
	s.controls()
	return s
}

// Start starts a cloud that listens on Options.Listen.
func Start(options Options) (*Server, error) {
	s := New(options)
	address := options.Listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("start the emulator: %w", err)
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(listener) }() // Close ends Serve.
	return s, nil
}

// URL returns the address of a started [Server].
func (s *Server) URL() string { return s.url }

// Close ends a started [Server].
func (s *Server) Close() error {
	if s.server == nil {
		return nil
	}
	if err := s.server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the emulator: %w", err)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
