package chaos_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestScale takes sets of objects of all packs through their life, and then four times as many.
// A set costs the same number of requests at both sizes: no pass, refusal or release may depend
// on the number of other objects. At both sizes each lock is removed once, and no object is gone
// before an object that needs it.
//
// The benchmarks measure 10,000 sets. CHAOS_SIZE multiplies those of this test.
func TestScale(t *testing.T) {
	load := newLoad(t)
	n := sized(5)
	small, large := load.life(n), load.life(4*n)
	t.Logf("%d sets: %v; %d sets: %v", n, small, 4*n, large)
	for i, phase := range phases {
		if float64(large[i]) > scaleBound*4*float64(small[i])+float64(n) {
			t.Errorf("%s: %d requests for %d sets, but %d for %d sets: a set costs more beside others",
				phase, small[i], n, large[i], 4*n)
		}
	}
}

// scaleBound is the most that a set may cost beside four times as many sets, as a multiple of its
// cost beside few. A few requests do not depend on the number of sets, such as those of a lease: fewer
// than one for each set of the small number.
const scaleBound = 1.5

// phases are the phases in the life of a set, each with a number of requests.
var phases = []string{"creation", "refused deletions", "teardown"}

// load is an operator of all packs whose requests are counted.
type load struct {
	t     *testing.T
	proxy *proxy
	azure *evilAzure
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{t: t, proxy: newProxy(t), azure: fleetAzure(t)}
	operator.Start(t, l.proxy.Through, everyPack, l.azure.options)
	return l
}

// life creates n sets, has each protected ConfigMap refuse two deletions, and deletes all sets
// at once. life returns the operator's requests in each of phases, for one refused deletion of each.
func (l *load) life(n int) [3]int64 {
	l.t.Helper()
	var spent [3]int64
	f := newFleet(l.t, l.azure)
	l.settle()
	spent[0] = l.requests(func() {
		f.protect(n)
		f.launch(n)
		testenv.EventuallyWithin(l.t, hostilePatience, func() error { return f.complete(n) })
	})
	refuse := func() {
		for i := range n {
			if err := f.c.Delete(l.t.Context(), f.used(i)); !apierrors.IsConflict(err) {
				l.t.Errorf("delete used-%d: %v, want a conflict", i, err)
			}
		}
	}
	// A late request of the creation falls into one of both rounds at most.
	spent[1] = min(l.requests(refuse), l.requests(refuse))
	changes := f.watch(&corev1.ConfigMapList{}, nil)
	spent[2] = l.requests(func() {
		f.scuttle()
		for i := range n {
			if err := f.c.Delete(l.t.Context(), f.using(i)); err != nil {
				l.t.Error(err)
			}
		}
		f.awaitLeft(n, 0)
		testenv.EventuallyWithin(l.t, hostilePatience, f.noneLeft)
	})
	for i := range n {
		name := f.key("used", i)
		testenv.Eventually(l.t, func() error { // The lock is removed before the Usage, on another watch.
			if got := locks(changes.of(name)); len(got) != 2 || !got[0] || got[1] {
				return fmt.Errorf("the lock of %s went %v, want on and off once", name, got)
			}
			return nil
		})
	}
	return spent
}

// requests returns how many requests the operator sends because of what do does. It is called when the operator
// is quiet (settle), and returns when it is quiet again.
func (l *load) requests(do func()) int64 {
	l.t.Helper()
	before := l.proxy.Requests.Load()
	do()
	l.settle()
	return l.proxy.Requests.Load() - before
}

// settled is longer than the operator puts off any write.
const settled = 2 * time.Second

// settle waits until the operator has sent no request for a while.
func (l *load) settle() {
	l.t.Helper()
	last, since := l.proxy.Requests.Load(), time.Now()
	testenv.Eventually(l.t, func() error {
		if now := l.proxy.Requests.Load(); now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < settled {
			return errors.New("the operator still sends requests")
		}
		return nil
	})
}
