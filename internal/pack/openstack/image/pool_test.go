package image

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/external"
)

// startPool returns a pool that runs until the test ends, and the names of the requeued Images.
func startPool(t *testing.T, size int) (*pool, <-chan string) {
	t.Helper()
	p, woken := newPool(shares{size, size, size}), make(chan string, 10)
	p.lent = time.Hour
	p.Serve(func(obj client.Object) { woken <- obj.GetName() })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return p, woken
}

func named(name string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
}

func TestPoolTellsOnce(t *testing.T) {
	p, woken := startPool(t, 1)
	failure := errors.New("no")
	for reason, c := range map[string]struct {
		run  func(context.Context) error
		want string
	}{
		"an error is told": {func(context.Context) error { return failure }, "no"},
		"a panic is one":   {func(context.Context) error { panic("oh") }, "panic: oh"},
		"and so is none":   {func(context.Context) error { return nil }, "<nil>"},
	} {
		if ended, err := p.do(named(reason), "source", c.run); ended || err != nil {
			t.Fatalf("%s: ended %t (%v) before it began", reason, ended, err)
		}
		if name := <-woken; name != reason {
			t.Errorf("%s: woke %s", reason, name)
		}
		uid := types.UID(reason)
		if !p.has(uid) {
			t.Errorf("%s: forgotten before it was asked for", reason)
		}
		ended, err := p.do(named(reason), "source", c.run)
		restUntil(p, uid, time.Now().Add(time.Hour))
		if rests := c.want != "<nil>"; !ended || fmt.Sprint(err) != c.want || p.has(uid) != rests {
			t.Errorf("%s: ended %t: %v, still there %t", reason, ended, err, p.has(uid))
		}
	}
}

// TestPoolRests: a failed task does not begin again at once. Each pause is longer than the
// pause before, until the task succeeds or its Image is deleted.
func TestPoolRests(t *testing.T) {
	p, woken := startPool(t, 1)
	begun := 0
	fail := func(context.Context) error {
		begun++
		return errors.New("no")
	}
	var last time.Duration
	for attempt := 1; attempt <= 4; attempt++ {
		if ended, err := p.do(named("a"), "source", fail); ended || err != nil {
			t.Fatalf("attempt %d was not begun: %v", attempt, err)
		}
		<-woken
		var pause time.Duration
		for look := range 3 { // Whatever wakes the object.
			asked := time.Now()
			ended, err := p.do(named("a"), "source", fail)
			later, ok := errors.AsType[*external.Error](err)
			if !ended || !ok || later.After <= 0 || begun != attempt {
				t.Fatalf("attempt %d: ended %t, %v, begun %d times", attempt, ended, err, begun)
			}
			if look > 0 {
				continue
			}
			pause = later.After
			if until := restUntil(p, "a", time.Now().Add(time.Hour)); until.Before(asked.Add(pause)) {
				t.Errorf("attempt %d: it rests until %s, asked to for %s at %s", attempt, until, pause, asked)
			}
		}
		restUntil(p, "a", time.Time{})
		if pause <= last {
			t.Errorf("attempt %d: a pause of %s after one of %s", attempt, pause, last)
		}
		last = pause
	}
	p.Drop("a")
	if len(p.rests) > 0 {
		t.Error("an object that is gone is remembered")
	}
}

// restUntil sets the end of the pause of an Image, so that the duration of the test does not
// matter, and returns the former end.
func restUntil(p *pool, uid types.UID, until time.Time) (before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, rests := p.rests[uid]
	if rests {
		p.rests[uid] = rest{r.failures, until, r.message}
	}
	return r.until
}

// TestPoolIsBounded: a dropped task, running or waiting, makes room for another task.
func TestPoolIsBounded(t *testing.T) {
	p, woken := startPool(t, 1)
	begun := make(chan string, 10)
	hang := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			begun <- name
			<-ctx.Done()
			return ctx.Err()
		}
	}
	for _, name := range []string{"first", "second", "third"} {
		_, _ = p.do(named(name), "source", hang(name)) // The task can't have ended.
	}
	if name := <-begun; name != "first" {
		t.Errorf("%s was begun first", name)
	}
	p.Drop("second") // The second task waits for a slot.
	if len(begun) > 0 {
		t.Errorf("%s was begun as well", <-begun)
	}
	p.Drop("first")
	if name := <-begun; name != "third" {
		t.Errorf("%s was begun next", name)
	}
	if name := <-woken; name != "first" || p.has("first") || p.has("second") || !p.has("third") {
		t.Errorf("woke %s", name)
	}
}
