package admission

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/locked"
)

const (
	// echoTries is how many echoes Origin asks for before it gives up on a connection. Several API servers
	// may answer, and each has several connections; every try opens a new connection to an API server.
	echoTries = 12
	// echoTime bounds all tries for one connection after the answer to its request.
	echoTime = 10 * time.Second
	// holdTime is how long an echo on another connection is held back, so that the API server has to take the next
	// connection for the next echo, which is sent after echoPause.
	holdTime  = 300 * time.Millisecond
	echoPause = 10 * time.Millisecond
	// maxRounds is how often a connection is tried. A connection of the API server may be busy with other reviews.
	maxRounds = 8
	// leastNumber is the least random number of an echo: no user sends such a grace period.
	leastNumber = 1 << 48
	// echoRate and echoBurst bound the echoes of the process: a client that forges reviews causes no more requests.
	echoRate  = 50
	echoBurst = 2 * echoTries
)

// echoes finds the connections of the API server by random numbers, each of which the API server alone is given.
type echoes struct {
	// asked are the numbers that were sent, with the connection to be proven.
	asked       locked.Map[int64, *connection]
	connections locked.Map[net.Conn, *connection]
}

func newEchoes() *echoes { return &echoes{} }

// follow is the ConnState of the server.
func (e *echoes) follow(c net.Conn, state http.ConnState) {
	known, ok := e.connections.Load(c)
	if !ok {
		return
	}
	switch state {
	case http.StateIdle:
		known.idle()
	case http.StateClosed, http.StateHijacked:
		known.end()
		e.connections.Delete(c)
	case http.StateNew, http.StateActive:
	}
}

// heard wraps a handler so that a review that carries a known number proves its connection. The answer to such a
// review is a refusal: the request is a dry run of the operator.
func (e *echoes) heard(hook http.Handler) http.Handler {
	return wrapped(hook, func(handler admission.Handler) admission.Handler {
		return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			number := numberOf(&req)
			if number < leastNumber {
				return handler.Handle(ctx, req)
			}
			wanted, asked := e.take(number)
			here := connectionOf(ctx)
			if asked && here != nil {
				here.prove()
			}
			if !asked || wanted != here {
				hold(ctx, wanted)
			}
			return pack.Forbidden("this dry run only shows Kinship which connections are the API server's")
		})
	})
}

// take returns the connection that a number is to prove, and forgets the number: each proves one connection.
func (e *echoes) take(number int64) (wanted *connection, asked bool) {
	e.asked.Update(number, func(c *connection, known bool) (*connection, bool) {
		wanted, asked = c, known
		return nil, false
	})
	return wanted, asked
}

// hold waits a moment, or until the connection that is looked for is proven. Another replica holds the echo back too.
func hold(ctx context.Context, wanted *connection) {
	var proven chan struct{}
	if wanted != nil {
		proven = wanted.proven
	}
	select {
	case <-proven:
	case <-ctx.Done():
	case <-time.After(holdTime):
	}
}

// numberOf returns gracePeriodSeconds of a dry run of a deletion or an eviction, or 0.
func numberOf(req *admission.Request) int64 {
	if req.DryRun == nil || !*req.DryRun {
		return 0
	}
	var options struct {
		GracePeriodSeconds *int64 `json:"gracePeriodSeconds"`
	}
	raw := req.Options.Raw
	if req.Operation == admissionv1.Create && req.SubResource == "eviction" {
		var eviction struct {
			DeleteOptions json.RawMessage `json:"deleteOptions"`
		}
		if err := json.Unmarshal(req.Object.Raw, &eviction); err != nil {
			return 0
		}
		raw = eviction.DeleteOptions
	}
	if len(raw) == 0 || json.Unmarshal(raw, &options) != nil || options.GracePeriodSeconds == nil {
		return 0 // The handler reports what can't be read.
	}
	return *options.GracePeriodSeconds
}

// Origin implements [pack.Origin]. See the package comment.
type Origin struct {
	echoes  *echoes
	send    func(ctx context.Context, request pack.Repeat, number int64) error
	limiter *rate.Limiter
	turn    chan struct{} // one connection is proven at a time
	log     logr.Logger
}

// Origin returns an [Origin] that asks for echoes with the account of config. The account needs the right to the
// requests that a pack repeats, such as delete.
func (s *Server) Origin(config *rest.Config) (*Origin, error) {
	fresh := rest.CopyConfig(config)
	// A new connection for each echo may lead to another API server. The others keep their connections.
	fresh.Dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	httpClient, err := rest.HTTPClientFor(fresh)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(fresh, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make metadata client: %w", err)
	}
	clients, err := kubernetes.NewForConfigAndClient(fresh, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &Origin{
		echoes: s.echoes, log: s.options.Log.WithName("origin"), turn: make(chan struct{}, 1),
		limiter: rate.NewLimiter(echoRate, echoBurst),
		send: func(ctx context.Context, request pack.Repeat, number int64) error {
			defer httpClient.CloseIdleConnections()
			options := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}, GracePeriodSeconds: &number}
			if request.Eviction {
				return clients.PolicyV1().Evictions(request.Namespace).Evict(ctx, &policyv1.Eviction{
					ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}, DeleteOptions: &options,
				})
			}
			return objects.Resource(request.Resource).Namespace(request.Namespace).Delete(ctx, request.Name, options)
		},
	}, nil
}

// Prove implements [pack.Origin]. With HTTP/2, the echo arrives on the connection while the review waits. With HTTP/1.1
// the echo needs the connection, so the first review is answered before: Prove returns Pending. If no echo arrives
// then in several rounds, later reviews of the connection are Unproven.
func (o *Origin) Prove(ctx context.Context, request pack.Repeat) pack.Proof {
	c := connectionOf(ctx)
	switch {
	case c == nil: // Not called by the server of this package.
		return pack.Unproven
	case c.isProven():
		return pack.Proven
	case c.isMultiplexed():
		if o.proveWithin(ctx, c, request, timeLeft(ctx)/2) {
			return pack.Proven
		}
		return pack.Unproven
	case c.rounds.Add(1) > maxRounds:
		return pack.Unproven
	}
	background := context.WithoutCancel(ctx)
	c.later(func() { o.proveWithin(background, c, request, echoTime) })
	return pack.Pending
}

// proveWithin asks for echoes until one arrives on the connection, and reports whether one did.
func (o *Origin) proveWithin(ctx context.Context, c *connection, request pack.Repeat, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select { // An echo for one connection proves others by the way.
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-c.proven:
		return true
	case <-ctx.Done():
		return false
	}
	ended := make(chan error, echoTries)
	for range echoTries {
		if o.limiter.Wait(ctx) != nil {
			return c.isProven()
		}
		go func() { ended <- o.echo(ctx, c, request) }()
		select {
		case <-c.proven:
			return true
		case <-c.ended:
			return false
		case <-ctx.Done():
			return c.isProven()
		case err := <-ended:
			if apierrors.IsNotFound(err) { // A dry run of its deletion does not reach the webhook.
				return c.isProven()
			}
		case <-time.After(echoPause): // The echo may be held back on another connection: the next one takes this one.
		}
	}
	if !c.isProven() {
		o.log.Info("A review has no effect: nothing proves that the API server has sent it",
			"client", c.conn.RemoteAddr().String(), "resource", request.Resource.GroupResource(), "name", request.Name)
	}
	return c.isProven()
}

// echo sends one dry run with a random number, and returns the API server's answer. The expected answer is a refusal.
func (o *Origin) echo(ctx context.Context, c *connection, request pack.Repeat) error {
	number := randomNumber()
	o.echoes.asked.Store(number, c)
	defer o.echoes.asked.Delete(number)
	return o.send(ctx, request, number)
}

// randomNumber returns a random number from leastNumber up.
func randomNumber() int64 {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:]) // Never fails.
	return int64(binary.BigEndian.Uint64(bytes[:])>>2) | leastNumber
}
