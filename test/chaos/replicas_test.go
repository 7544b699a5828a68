package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// takeover is how long a replica may take until it leads in the place of one that
// was killed: the lease of fifteen seconds, and what it takes to notice.
const takeover = 25 * time.Second

// TestTwoReplicas kills the replica that leads in the middle of its work. The
// other one answers admission all the time, leads as soon as the lease has
// ended, and does the rest: each thing once, and nothing wrong.
func TestTwoReplicas(t *testing.T) {
	ports := []string{strconv.Itoa(testenv.FreePort(t)), strconv.Itoa(testenv.FreePort(t))}
	service := newService(t, ports)
	args := func(port string) []string { return []string{"--leader-elect", "--webhook-port", port} }
	leader := operator.Exec(t, args(ports[0])...)
	operator.Exec(t, append(args(ports[1]), "--install=false", "--adopt=false")...)
	s := newScene(t)
	service.install(t, s.c)

	released, kept := sized(200), sized(20)
	n := released + kept
	s.protect(n)
	configMaps := s.watch(&corev1.ConfigMapList{}, nil)
	usages := s.watch(&protectionv1beta1.UsageList{}, nil)
	stop := s.attack(released, kept)

	var killed time.Time
	for i := range released {
		if i == released/2 {
			// Half of what is released by now is not done yet.
			leader.Kill()
			killed = time.Now()
		}
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.EventuallyWithin(t, takeover+recovery, func() error {
		if got := usages.count(watch.Deleted); got < released {
			return fmt.Errorf("%d of %d Usages are gone", got, released)
		}
		return nil
	})
	t.Logf("all is released %s after the leader was killed", time.Since(killed).Round(time.Millisecond))
	answers := stop()
	t.Logf("deletions in the meantime were answered: %s", answers)
	if answers.failed.Load() > answers.refused.Load()/20 {
		t.Error("admission was not answered throughout")
	}
	for i := range released {
		testenv.Eventually(t, func() error { // One watch is ahead of the other.
			changes := locks(configMaps.of(s.key("used", i)))
			if !slices.Equal(changes, []bool{false}) && !slices.Equal(changes, []bool{true, false}) {
				return fmt.Errorf("lock of used-%d went %v, want off once", i, changes)
			}
			return nil
		})
	}
	testenv.Eventually(t, func() error {
		if got := len(s.locked()); got != kept {
			return fmt.Errorf("%d ConfigMaps are locked, want %d", got, kept)
		}
		return nil
	})
}

// answers counts how deletions of protected objects were answered.
type answers struct{ refused, failed atomic.Int64 }

// String implements fmt.Stringer.
func (a *answers) String() string {
	return fmt.Sprintf("%d refused, %d because nobody answered", a.refused.Load(), a.failed.Load())
}

// attack tries to delete protected objects from two sides until stop is called, which
// waits for the first answer.
func (s scene) attack(first, n int) (stop func() *answers) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var attacking sync.WaitGroup
	var got answers
	for worker := range 2 {
		attacking.Go(func() {
			for i := worker; ctx.Err() == nil; i++ {
				used := s.used(first + i%n)
				switch err := s.c.Delete(ctx, used); {
				case err == nil:
					s.t.Errorf("%s was deleted while used", used.Name)
					return
				case apierrors.IsConflict(err):
					got.refused.Add(1)
				case ctx.Err() == nil:
					got.failed.Add(1)
				}
				select {
				case <-ctx.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	return func() *answers {
		testenv.Eventually(s.t, func() error {
			if got.refused.Load()+got.failed.Load() == 0 {
				return errors.New("nothing was answered yet")
			}
			return nil
		})
		cancel()
		attacking.Wait()
		return &got
	}
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
