package external

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A pass that calls a cloud needs a turn (turns.request). Turns are given in fair shares: a place that
// hangs, is slow or refuses calls does not occupy the workers of other places and namespaces.
// reconciler.enter ends a pass without a turn at once, so that no worker waits. turns.serve requeues the
// object when the object has a turn.
//
// A line is the set of objects of a kind, in a namespace, at a place, such as the Servers in namespace web
// at https://cloud.example. A line may have [Options.Workers] turns, and a kind has crowd times as many
// workers. With [Options.Pooled] all kinds share the workers of a single kind. All lines of a namespace
// together may have sharedBy times the turns of a line. The same limit holds for all lines of a kind at a
// place.
const (
	crowd    = 3
	sharedBy = 2
)

// The circuit of a line opens after tolerated failures of the place in a row ([Error.Outage]). While the
// circuit is open, a single object at a time calls the place: first after firstPause, then after pauses
// that double up to longestPause. A Retry-After longer than patience opens the circuit at once, for at
// most longestAsked, because a place that asks for an hour may be mistaken.
//
// A circuit belongs to a line and not to a place. Requests of namespace a may make the place fail, and
// must not block namespace b.
const (
	tolerated    = 5
	firstPause   = time.Second
	longestPause = time.Minute
	patience     = 2 * time.Second
	longestAsked = 5 * time.Minute
)

// way is the namespace, the place and the kind of a line.
type way struct {
	namespace, place string
	kind             schema.GroupKind
}

// site is a place and a kind: the sum over all namespaces (turns.places).
type site struct {
	place string
	kind  schema.GroupKind
}

func (w way) site() site { return site{w.place, w.kind} }

// line is the objects of a kind in a namespace at a place.
type line struct {
	way

	held   int // turns
	parked []object.ID
	waits  sets.Set[object.ID] // parked, as a set

	failures int           // in a row
	pause    time.Duration // the last one
	until    time.Time     // of the pause; zero while the circuit is closed
	asked    bool          // the place asked for the pause, by Retry-After
	why      string        // the last failure
	timer    *time.Timer
}

// turn is the right of an object to call its place.
type turn struct {
	line *line
	// taken says that a pass uses the turn. turns.serve gives a turn that is not taken until the requeued
	// object calls turns.request.
	taken bool
	// due says that turns.end releases the turn after the running pass, even if the pass did not call
	// turns.request.
	due bool
	// probe says that the circuit was open when turns.give made the turn.
	probe bool
}

// turns gives turns to the objects of a kind, or of all kinds ([Options.Pooled]). turns is safe for
// concurrent use. A line without turns, parked objects and failures is dropped, so that places which
// tenants invent take no memory.
type turns struct {
	share int // turns of one line
	wake  func(object.ID)

	mu         sync.Mutex
	lines      map[way]*line
	order      []*line // those with parked objects; the first is served first
	places     map[site]int
	namespaces map[string]int
	held       map[object.ID]map[string]*turn // by place
	swept      int                            // lines that the last sweep left
}

func newTurns(share int, wake func(object.ID)) *turns {
	return &turns{
		share: share, wake: wake, lines: map[way]*line{}, places: map[site]int{}, namespaces: map[string]int{},
		held: map[object.ID]map[string]*turn{},
	}
}

// outage is the reason for which a place is not called.
type outage struct {
	why    string
	within time.Duration // of which one object calls the place again
}

// outcome returns the reconcile.Outcome of a pass that ends because line.until has not passed.
func (o outage) outcome(cloud string) reconcile.Outcome {
	return reconcile.Retry(o.within, condition.ReasonTransientError, fmt.Errorf(
		"%s fails or does not answer; one object asks again within %s; the last failure: %s",
		cloud, o.within, o.why))
}

// begin is called by reconciler.Reconcile before a pass.
func (t *turns) begin(id object.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.held[id] {
		one.due = true
	}
}

// end is called by reconciler.Reconcile after a pass. turns.serve gives a turn that the pass did not take
// to another object.
func (t *turns) end(id object.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for place, one := range t.held[id] {
		if one.due || one.taken {
			t.release(id, place)
		}
	}
	t.serve()
}

// request reports whether an object has a turn now. Without a turn, the object is parked, and turns.serve
// requeues the object later. If the circuit is open, request returns the outage.
func (t *turns) request(id object.ID, place string) (ok bool, open *outage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.held[id][place]; one != nil {
		one.taken = true
		return true, nil
	}
	l := t.line(way{id.Namespace, place, id.GroupKind()})
	if l.waits.Len() == 0 && t.fits(l) {
		t.give(l, id).taken = true
		return true, nil
	}
	if !l.waits.Has(id) {
		l.parked = append(l.parked, id)
		l.waits.Insert(id)
		if l.waits.Len() == 1 {
			t.order = append(t.order, l)
		}
	}
	t.serve()
	if l.until.IsZero() {
		return false, nil
	}
	within := longestPause
	if l.asked {
		within = longestAsked
	}
	return false, &outage{l.why, within}
}

// verdict says whether the place of a pass answered, or how the place failed.
type verdict struct {
	answered bool
	failure  *Error // nil if the place did not fail
}

// leave ends a turn, and counts the verdict of the pass.
func (t *turns) leave(id object.ID, place string, v verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.held[id][place]
	if one == nil {
		return
	}
	switch l := one.line; {
	case v.failure != nil:
		t.failed(l, one, v.failure)
	case v.answered:
		l.failures, l.pause, l.until = 0, 0, time.Time{}
	}
	t.release(id, place)
	t.serve()
}

// failed counts a failure of a place. After tolerated failures, or a Retry-After longer than patience,
// failed opens the circuit.
func (t *turns) failed(l *line, one *turn, failure *Error) {
	wasOpen := !l.until.IsZero()
	if wasOpen && !one.probe {
		return // The place was called before the circuit opened.
	}
	l.failures++
	l.why, l.asked = failure.Message, failure.After > patience
	if l.failures < tolerated && !l.asked {
		l.until = time.Time{}
		return
	}
	l.pause = min(max(firstPause, 2*l.pause), longestPause)
	pause := max(l.pause, min(failure.After, longestAsked))
	l.until = time.Now().Add(pause)
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = time.AfterFunc(pause, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.serve()
	})
	if !wasOpen {
		for id := range l.waits { // Their conditions have to show the outage.
			t.wake(id)
		}
	}
}

// line returns the line of a way. If the map turns.lines has grown, line drops the lines that are not in
// use.
func (t *turns) line(w way) *line {
	if l := t.lines[w]; l != nil {
		return l
	}
	if len(t.lines) > 2*t.swept+16 {
		for other, l := range t.lines {
			idle := l.held == 0 && l.waits.Len() == 0
			if idle && (l.failures == 0 || time.Since(l.until) > longestAsked) {
				delete(t.lines, other)
			}
		}
		t.swept = len(t.lines)
	}
	l := &line{way: w, waits: sets.Set[object.ID]{}}
	t.lines[w] = l
	return l
}

// fits reports whether a line may have another turn: turns.share for the line, sharedBy*share for
// line.site and for the namespace.
func (t *turns) fits(l *line) bool {
	if !l.until.IsZero() && (l.held > 0 || time.Now().Before(l.until)) {
		return false
	}
	return l.held < t.share && t.places[l.site()] < sharedBy*t.share && t.namespaces[l.namespace] < sharedBy*t.share
}

func (t *turns) give(l *line, id object.ID) *turn {
	l.held++
	t.places[l.site()]++
	t.namespaces[l.namespace]++
	if t.held[id] == nil {
		t.held[id] = map[string]*turn{}
	}
	one := &turn{line: l, probe: !l.until.IsZero()}
	t.held[id][l.place] = one
	return one
}

func (t *turns) release(id object.ID, place string) {
	l := t.held[id][place].line
	delete(t.held[id], place)
	if len(t.held[id]) == 0 {
		delete(t.held, id)
	}
	l.held--
	lists.Decrease(t.places, l.site())
	lists.Decrease(t.namespaces, l.namespace)
	if l.held == 0 && l.waits.Len() == 0 && l.failures == 0 {
		delete(t.lines, l.way)
	}
}

// serve gives turns to parked objects. Each round gives at most one turn to each line of turns.order, and
// serve ends when no line fits.
func (t *turns) serve() {
	for again := true; again; {
		again = false
		for _, l := range slices.Clone(t.order) {
			if !t.fits(l) {
				continue
			}
			id := l.parked[0]
			l.parked = l.parked[1:]
			l.waits.Delete(id)
			t.give(l, id)
			t.wake(id)
			again = true
			t.order = slices.DeleteFunc(t.order, func(other *line) bool { return other == l })
			if l.waits.Len() > 0 {
				t.order = append(t.order, l) // Behind the others.
			}
		}
	}
}

// counts returns how many objects of a kind wait for a turn, and how many circuits are open.
func (t *turns) counts(kind schema.GroupKind) (waiting, open int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		if l.kind != kind {
			continue
		}
		waiting += l.waits.Len()
		if !l.until.IsZero() {
			open++
		}
	}
	return waiting, open
}
