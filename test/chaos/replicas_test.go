package chaos_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// takeover is how long a replica may take until it leads in the place of one that was killed, on
// a busy machine. TestFailOver of package operator bounds the durations that the replica waits for.
const takeover = 25 * time.Second

// TestTwoReplicas ends the replica that leads in the middle of 200 releases. The follower answers
// admission all the time, then leads, and finishes each release once.
//
// A replica that ends on SIGTERM answers each request that it has accepted. A replica that is
// killed loses the requests that are under way, and the API server does not repeat a request
// whose answer may have been lost: each client has one request under way.
func TestTwoReplicas(t *testing.T) {
	for _, ending := range []struct {
		name string
		end  func(leader *operator.Process) error
		lost int // of each client
	}{
		{"SIGTERM", (*operator.Process).Stop, 0},
		{"SIGKILL", func(leader *operator.Process) error { leader.Kill(); return nil }, 1},
	} {
		t.Run(ending.name, func(t *testing.T) {
			ports := []string{strconv.Itoa(testenv.FreePort(t)), strconv.Itoa(testenv.FreePort(t))}
			service := newService(t, ports)
			args := func(port string) []string {
				return []string{"--leader-elect", "--webhook-port", port, "--packs", "usage,iot,oam"}
			}
			leader := operator.Exec(t, args(ports[0])...)
			operator.Exec(t, append(args(ports[1]), "--install=false", "--adopt=false")...)
			s := newScene(t)
			s.protect(sized(200) + sized(20))
			service.install(t, s.c) // The leader has written its configurations: it has served 220 Usages.
			s.changeLeader(ending.lost, func() error { return ending.end(leader) })
		})
	}
}

// changeLeader releases 200 of 220 protected objects, and ends the leader when half of these are released.
// changeLeader expects that each client loses at most so many requests.
func (s scene) changeLeader(lost int, end func() error) {
	s.t.Helper()
	released, kept := sized(200), sized(20)
	configMaps := s.watch(&corev1.ConfigMapList{}, nil)
	usages := s.watch(&protectionv1beta1.UsageList{}, nil)
	clients := append(s.deleters(released, kept), attacker{"connectors", s.connect}, attacker{"Components", s.compose})
	_, stop := s.attack(clients)
	before := s.leader()

	var ended sync.WaitGroup
	began := time.Now()
	for i := range released {
		if i == released/2 {
			// The leader has not finished half of the releases before this one.
			began = time.Now()
			ended.Go(func() {
				if err := end(); err != nil {
					s.t.Errorf("end the leader: %v", err)
				}
			})
		}
		if err := s.c.Delete(s.t.Context(), s.using(i)); err != nil {
			s.t.Fatal(err)
		}
	}
	ended.Wait()
	testenv.EventuallyWithin(s.t, takeover, func() error {
		if now := s.leader(); now == "" || now == before {
			return fmt.Errorf("the Lease is held by %q, and was held by %q", now, before)
		}
		return nil
	})
	s.t.Logf("the other replica leads %s after the end of the leader began", time.Since(began).Round(time.Millisecond))
	testenv.EventuallyWithin(s.t, takeover+recovery, func() error {
		if got := usages.count(watch.Deleted); got < released {
			return fmt.Errorf("%d of %d Usages are gone", got, released)
		}
		return nil
	})
	s.t.Logf("all of %d are released %s after the end of the leader began", released,
		time.Since(began).Round(time.Millisecond))
	answers := stop()
	s.t.Logf("requests in the meantime: %s", answers)
	if most := lost * len(clients); len(answers.failed) > most {
		s.t.Errorf("%d requests were not answered, want at most %d: %v", len(answers.failed), most, answers.failed)
	}
	for i := range released {
		testenv.Eventually(s.t, func() error { // One watch is ahead of the other.
			changes := locks(configMaps.of(s.key("used", i)))
			if !slices.Equal(changes, []bool{false}) && !slices.Equal(changes, []bool{true, false}) {
				return fmt.Errorf("lock of used-%d went %v, want off once", i, changes)
			}
			return nil
		})
	}
	testenv.Eventually(s.t, func() error {
		if got := len(s.locked()); got != kept {
			return fmt.Errorf("%d ConfigMaps are locked, want %d", got, kept)
		}
		return nil
	})
}

// leader returns the holder of the Lease of the leader election. An operator that ends on SIGTERM
// leaves the Lease without a holder.
func (s scene) leader() string {
	s.t.Helper()
	var lease coordinationv1.Lease
	if err := s.c.Get(s.t.Context(), client.ObjectKey{Namespace: options.Namespace, Name: "kinship"}, &lease); err != nil {
		s.t.Fatalf("read the Lease of the leader: %v", err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// answers counts the right answers to requests of attack, and keeps the errors of the others.
type answers struct {
	mu     sync.Mutex
	right  map[string]int
	failed []error
}

// String implements fmt.Stringer.
func (a *answers) String() string {
	return fmt.Sprintf("right answers %v, %d requests without answer", a.right, len(a.failed))
}

func (a *answers) add(name string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed = append(a.failed, fmt.Errorf("%s: %w", name, err))
		return
	}
	a.right[name]++
}

// total is the number of right answers so far.
func (a *answers) total() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, count := range a.right {
		n += count
	}
	return n
}

// missing returns an error unless each named client has a right answer.
func (a *answers) missing(clients []attacker) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range clients {
		if a.right[c.name] == 0 {
			return fmt.Errorf("%s: no right answer yet, errors: %v", c.name, a.failed)
		}
	}
	return nil
}

// attacker is a client that sends one request after the other. try returns nil for the right
// answer.
type attacker struct {
	name string
	try  func(ctx context.Context, i int) error
}

// deleters are two clients that delete n protected ConfigMaps, from the first on.
func (s scene) deleters(first, n int) []attacker {
	try := func(ctx context.Context, i int) error { return s.deleteRefused(ctx, first+i%n) }
	return []attacker{{"even deletions", try}, {"odd deletions", try}}
}

// attack has clients send requests until stop is called, which waits until each client has a
// right answer. got grows in the meantime.
func (s scene) attack(clients []attacker) (got *answers, stop func() *answers) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var attacking sync.WaitGroup
	got = &answers{right: map[string]int{}}
	for k, c := range clients {
		attacking.Go(func() {
			for i := k; ctx.Err() == nil; i++ {
				if err := c.try(ctx, i); ctx.Err() == nil {
					got.add(c.name, err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	return got, func() *answers {
		testenv.Eventually(s.t, func() error { return got.missing(clients) })
		cancel()
		attacking.Wait()
		return got
	}
}

// deleteRefused deletes a ConfigMap that is used. A refusal is the right answer.
func (s scene) deleteRefused(ctx context.Context, i int) error {
	err := s.c.Delete(ctx, s.used(i))
	if err == nil {
		s.t.Errorf("%s was deleted while used", s.key("used", i))
	}
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// connect creates an IotConnector in a dry run, which both webhooks of the iot pack judge.
func (s scene) connect(ctx context.Context, i int) error {
	c := &iotv1alpha1.IotConnector{ObjectMeta: s.meta("hub", i)}
	c.Spec.Containers = []iotv1alpha1.Container{{Type: "Normalization", Image: "none"}}
	return s.c.Create(ctx, c, client.DryRunAll)
}

// compose creates a Component in a dry run, which both webhooks of the oam pack judge.
func (s scene) compose(ctx context.Context, i int) error {
	c := &oamv1alpha2.Component{ObjectMeta: s.meta("part", i)}
	c.Spec.Workload.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap"}`)
	return s.c.Create(ctx, c, client.DryRunAll)
}

// service is what a Service is in a cluster: one address, behind which whoever
// lives answers.
type service struct {
	listener net.Listener
	ports    []string
}

func newService(t *testing.T, ports []string) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{listener, ports}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context())) // Cleanups ask too.
	var serving sync.WaitGroup
	serving.Go(func() {
		for turn := 0; ; turn++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(ctx, conn, turn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		serving.Wait()
	})
	return s
}

// serve connects to the first that accepts.
func (s *service) serve(ctx context.Context, conn net.Conn, turn int) {
	defer func() { _ = conn.Close() }() // Either side may have closed it.
	for i := range s.ports {
		backend, err := (&net.Dialer{}).DialContext(ctx, "tcp", "127.0.0.1:"+s.ports[(turn+i)%len(s.ports)])
		if err != nil {
			continue
		}
		defer func() { _ = backend.Close() }()
		done := context.AfterFunc(ctx, func() {
			_ = conn.Close()
			_ = backend.Close()
		})
		defer done()
		go func() {
			_, _ = io.Copy(backend, conn)
			_ = backend.Close()
		}()
		_, _ = io.Copy(conn, backend)
		return
	}
}

// install has the API server ask at the service's address.
func (s *service) install(t *testing.T, c client.Client) {
	t.Helper()
	redirect := func(configs ...*admissionregistrationv1.WebhookClientConfig) {
		for _, config := range configs {
			address, err := url.Parse(*config.URL)
			if err != nil {
				t.Fatal(err)
			}
			address.Host = s.listener.Addr().String()
			config.URL = new(address.String())
		}
	}
	testenv.Eventually(t, func() error {
		var validating admissionregistrationv1.ValidatingWebhookConfigurationList
		if err := c.List(t.Context(), &validating); err != nil {
			return err
		}
		for i := range validating.Items {
			for j := range validating.Items[i].Webhooks {
				redirect(&validating.Items[i].Webhooks[j].ClientConfig)
			}
			if err := c.Update(t.Context(), &validating.Items[i]); err != nil {
				return err
			}
		}
		var mutating admissionregistrationv1.MutatingWebhookConfigurationList
		if err := c.List(t.Context(), &mutating); err != nil {
			return err
		}
		for i := range mutating.Items {
			for j := range mutating.Items[i].Webhooks {
				redirect(&mutating.Items[i].Webhooks[j].ClientConfig)
			}
			if err := c.Update(t.Context(), &mutating.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}
