package external

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinship-dev/kinship/pkg/object"
)

// queue has the objects that turns.wake requeued.
type queue struct {
	*turns

	t     *testing.T
	woken []object.ID
}

func newQueue(t *testing.T, share int) *queue {
	t.Helper()
	q := &queue{t: t}
	q.turns = newTurns(share, func(id object.ID) { q.woken = append(q.woken, id) })
	return q
}

func in(namespace string, i int) object.ID {
	return object.ID{Kind: "Network", Namespace: namespace, Name: fmt.Sprint("net-", i)}
}

// count returns the number of requeued objects. count locks turns.mu, because timers requeue objects under
// turns.mu.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.woken)
}

// takes begins passes over n objects, and returns the number of objects with a turn.
func (q *queue) takes(namespace, place string, n int) (granted int) {
	for i := range n {
		q.begin(in(namespace, i))
		if ok, _ := q.request(in(namespace, i), place); ok {
			granted++
		}
	}
	return granted
}

// fail ends a pass whose place failed (Error.Outage).
func (q *queue) fail(id object.ID, place string, after time.Duration) {
	q.leave(id, place, verdict{failure: &Error{Message: "no answer", After: after, Outage: true}})
	q.end(id)
}

// answer ends a pass that got an answer.
func (q *queue) answer(id object.ID, place string) {
	q.leave(id, place, verdict{answered: true})
	q.end(id)
}

// wakeOne begins the pass of a requeued object, and reports whether the object has a turn.
func (q *queue) wakeOne(place string) (id object.ID, ok bool) {
	q.t.Helper()
	if q.count() == 0 {
		q.t.Fatal("nobody was woken")
	}
	id, q.woken = q.woken[0], q.woken[1:]
	q.begin(id)
	ok, _ = q.request(id, place)
	return id, ok
}

// TestHangingPlace: objects at hanging places leave turns to other objects, whether a single place hangs
// or many.
func TestHangingPlace(t *testing.T) {
	const share = 8
	q := newQueue(t, share)
	if n := q.takes("a", "hangs", 40); n != share {
		t.Errorf("40 objects at a place that hangs have %d turns, want %d", n, share)
	}
	for i := range 40 { // Each at another one.
		q.begin(in("a", 100+i))
		_, _ = q.request(in("a", 100+i), fmt.Sprint("hangs-", i))
	}
	if n := q.namespaces["a"]; n != sharedBy*share || n >= crowd*share {
		t.Errorf("the objects of a namespace have %d of %d turns, want %d", n, crowd*share, sharedBy*share)
	}
	if ok, _ := q.request(in("b", 0), "good"); !ok {
		t.Error("an object of another namespace and another place has no turn")
	}
}

// TestFlood: two namespaces at a place get turns alternately.
func TestFlood(t *testing.T) {
	q := newQueue(t, 2)
	q.takes("a", "place", 40)
	q.takes("b", "place", 3)
	held := func(namespace string) int { return q.lines[way{namespace, "place", in(namespace, 0).GroupKind()}].held }
	if a, b := held("a"), held("b"); a != 2 || b != 2 {
		t.Fatalf("namespace a has %d turns, b %d", a, b)
	}
	q.takes("c", "place", 1)
	var order string
	for _, id := range []object.ID{in("a", 0), in("a", 1), in("b", 0), in("b", 1)} {
		q.answer(id, "place")
	}
	for _, id := range q.woken {
		order += id.Namespace
	}
	if order != "acba" { // As long as b has its full share, c is next.
		t.Errorf("turns went to the namespaces %s, want one to each in turn", order)
	}
}

// TestCircuit: a failing place is called by a single object at a time, less and less often. After the
// first answer all objects call the place.
func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 8)
		q.takes("a", "bad", 40)
		for i := range 8 {
			q.fail(in("a", i), "bad", 0)
		}
		for q.count() > 0 { // Those that have a turn by now, and those whose conditions are to tell.
			if id, ok := q.wakeOne("bad"); ok {
				q.fail(id, "bad", 0)
			} else {
				q.end(id)
			}
		}
		q.begin(in("a", 50))
		if ok, open := q.request(in("a", 50), "bad"); ok || open == nil || open.why != "no answer" {
			t.Fatalf("after many failures: a turn %t, circuit %v", ok, open)
		}
		if ok, _ := q.request(in("b", 0), "bad"); !ok {
			t.Error("another namespace must find out by itself")
		}
		q.answer(in("b", 0), "bad")
		for range 3 {
			<-time.After(longestPause)
			synctest.Wait()
			if q.count() != 1 {
				t.Fatalf("%d objects ask again, want one", q.count())
			}
			id, ok := q.wakeOne("bad")
			if !ok {
				t.Fatalf("%s has no turn", id.Short())
			}
			q.fail(id, "bad", 0)
		}
		<-time.After(longestPause)
		synctest.Wait()
		id, _ := q.wakeOne("bad")
		q.answer(id, "bad")
		if q.count() != 8 {
			t.Errorf("%d objects are woken by the first answer, want a full share", q.count())
		}
		for q.count() > 0 {
			id, _ := q.wakeOne("bad")
			q.answer(id, "bad")
		}
		waiting, open := q.counts(in("a", 0).GroupKind())
		if waiting+open+len(q.held)+len(q.lines)+len(q.places)+len(q.namespaces) != 0 {
			t.Errorf("at the end %d wait, %d circuits are open, kept: %v %v", waiting, open, q.held, q.lines)
		}
	})
}

// TestAskedToWait: after a Retry-After of an hour no object calls the place, until a single object calls
// the place after longestAsked.
func TestAskedToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 8)
		q.takes("a", "busy", 1)
		q.fail(in("a", 0), "busy", time.Hour)
		if n := q.takes("a", "busy", 40); n != 0 {
			t.Fatalf("%d objects ask a place that wants to be left alone", n)
		}
		if ok, _ := q.request(in("a", 41), "good"); !ok {
			t.Error("an object at another place has no turn")
		}
		q.answer(in("a", 41), "good")
		q.woken = nil
		<-time.After(longestAsked - time.Second)
		synctest.Wait()
		if q.count() != 0 {
			t.Error("it is asked too early")
		}
		<-time.After(time.Second)
		synctest.Wait()
		id, ok := q.wakeOne("busy")
		if !ok || q.count() != 0 {
			t.Errorf("%s has a turn: %t; %d more are woken", id.Short(), ok, q.count())
		}
		q.answer(id, "busy")
		if q.count() != 8 {
			t.Errorf("%d objects are woken by the answer, want 8", q.count())
		}
	})
}

// TestUnusedTurn: the turn of a requeued object that does not call turns.request is given to the next
// object.
func TestUnusedTurn(t *testing.T) {
	q := newQueue(t, 1)
	q.takes("a", "place", 3)
	q.answer(in("a", 0), "place")
	q.begin(in("a", 1)) // It is gone by now.
	q.end(in("a", 1))
	q.woken = q.woken[1:]
	if id, ok := q.wakeOne("place"); !ok || id != in("a", 2) {
		t.Errorf("%s has a turn: %t", id.Short(), ok)
	}
}

// TestInventedPlaces: turns.line drops the lines of places that no object calls any more.
func TestInventedPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, 8)
		for i := range 1000 {
			place := fmt.Sprint("place-", i)
			_, _ = q.request(in("a", i), place)
			q.fail(in("a", i), place, time.Hour)
			<-time.After(time.Minute)
		}
		if n := len(q.lines); n > 100 {
			t.Errorf("%d lines are kept", n)
		}
	})
}
