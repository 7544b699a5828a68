package usage

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// grants returns the ReferenceGrants of a namespace.
type grants func(namespace string) []kinshipv1alpha1.ReferenceGrant

// ledger knows which protections are in force: the edges that Usages declare, as far as they
// are permitted, put together with what exists. It runs in every replica and wakes the Usages
// and locks that a change can affect.
type ledger struct {
	relation.Waker

	watcher *relation.Watcher

	// trusting is set where admission guards the authority mark, so that it can be
	// relied on.
	trusting bool
	// get returns a Usage as the informers hold it now, or nil.
	get func(object.ID) usage
	// grants are those that are known.
	grants grants
	// unread reports whether a Usage exists that can't be read.
	unread func() bool

	// turn is held from reading a Usage until its edges are set. Informers, grants, kinds
	// and the controller tell of the same Usage at the same moment, and what was read
	// last is to be what is known.
	turn sync.Mutex

	mu         sync.Mutex                                        // taken while turn is held, never the other way round
	released   map[object.ID]types.UID                           // deleted Usages that hold nothing any more
	unresolved map[schema.GroupKind]map[object.ID][]relation.Ref // Usages, and what they look for
	ended      map[object.ID]types.UID                           // Usages, and using objects that are told to be gone
}

// newLedger returns a ledger of what a watcher sees. The caller sets the other fields.
func newLedger(watcher *relation.Watcher) *ledger {
	return &ledger{
		Waker:   relation.Waker{Force: relation.Force{Declared: &relation.Index{}, Exists: watcher}},
		watcher: watcher,
	}
}

// declare takes in a Usage as it is now, or that it is gone.
func (l *ledger) declare(id object.ID) {
	l.turn.Lock()
	defer l.turn.Unlock()
	u := l.get(id) // Not what the caller was told of: somebody may have taken in a newer one.
	if u == nil {
		l.forget(id)
		return
	}
	l.take(u)
	l.Declarer(id)
}

// take sets the edges of a Usage. The turn must be held.
func (l *ledger) take(u usage) {
	if l.hasReleased(u) {
		return // Its kinds stay in use: it may be waiting for one to be read, to take a lock off.
	}
	id := identify(u)
	if l.isOutside(u) {
		l.watcher.Use(id)
		l.Declare(id, nil)
		return
	}
	var edges []relation.Edge
	if l.permitted(u) {
		edges = extract(u, l.watcher)
	}
	l.watch(id, u, edges)
	l.Declare(id, edges)
}

// forget drops a Usage that is gone. The turn must be held.
func (l *ledger) forget(id object.ID) {
	l.Declare(id, nil)
	l.mu.Lock()
	delete(l.released, id)
	delete(l.ended, id)
	for _, waiting := range l.unresolved {
		delete(waiting, id)
	}
	l.mu.Unlock()
	l.watcher.Use(id)
}

// release ends what a deleted Usage holds, before the Usage itself is gone.
func (l *ledger) release(u usage) {
	l.turn.Lock()
	defer l.turn.Unlock()
	id := identify(u)
	if now := l.get(id); now == nil || now.GetUID() != u.GetUID() {
		return // It is gone, and what it held with it: the edges are those of another one.
	}
	l.mu.Lock()
	if l.released == nil {
		l.released = map[object.ID]types.UID{}
	}
	l.released[id] = u.GetUID()
	l.mu.Unlock()
	l.Declare(id, nil)
}

// noteEnd keeps that the API server said that an object is gone, for the Usages of which it
// is the using one: nobody has to ask once more.
func (l *ledger) noteEnd(c relation.Change) {
	if c.New != nil || !c.Told {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.Declared.From(*c.Old) { // While mu is held, or a Usage could be forgotten meanwhile.
		if e.Source.Selector != nil {
			continue
		}
		if l.ended == nil {
			l.ended = map[object.ID]types.UID{}
		}
		l.ended[e.Declarer] = c.Old.UID
	}
}

// hasEnded reports whether the API server has said that the using object of a Usage is
// gone.
func (l *ledger) hasEnded(id object.ID, using types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return using != "" && l.ended[id] == using
}

// hasReleased reports whether release was called for a Usage.
func (l *ledger) hasReleased(u usage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.released[identify(u)] == u.GetUID()
}

// permitted reports whether a Usage may protect what it names: anything its
// author could reach when admission asked, else only what is granted now.
//
// Where admission asks nobody, nothing is known of the author: then a Usage in a
// namespace may protect what is in that namespace, or granted, and no more.
func (l *ledger) permitted(u usage) bool { return l.permittedBy(u, l.grants) }

// permittedBy is permitted by other grants than those that are known.
func (l *ledger) permittedBy(u usage, grants grants) bool {
	if !reachesOut(u) {
		return l.trusting || u.GetNamespace() == "" || l.inNamespaces(&u.UsageSpec().Of)
	}
	return (l.trusting && u.GetAnnotations()[authorityAnnotation] == authorityAuthor) || l.granted(u, grants)
}

// inNamespaces reports whether the objects that one side of a Usage names live in
// namespaces. Of a kind that is not served nothing can be protected anyway.
func (l *ledger) inNamespaces(r *sharedv1alpha1.Resource) bool {
	mapping, err := mappingOf(r, l.watcher)
	return err != nil || mapping.Namespaced
}

// granted reports whether a ReferenceGrant covers what a Usage protects. What
// lives outside of namespaces no namespace can grant.
func (l *ledger) granted(u usage, grants grants) bool {
	to, of := target(u), &u.UsageSpec().Of
	mapping, err := mappingOf(of, l.watcher)
	return err == nil && mapping.Namespaced && to.Namespace != "" &&
		authorise.Granted(grants(to.Namespace), identify(u), to)
}

// watch has the kinds watched that a Usage is about.
func (l *ledger) watch(id object.ID, u usage, edges []relation.Edge) {
	both := sides(u)
	inUse := make([]schema.GroupKind, 0, len(both))
	for _, s := range both {
		if gk := kindNamed(s.resource); !isRestless(gk) { // Nobody may have asked admission about such a one.
			inUse = append(inUse, gk)
		}
	}
	for _, e := range edges {
		if gk := e.Target.GroupKind(); !slices.Contains(inUse, gk) {
			inUse = append(inUse, gk)
		}
	}
	l.watcher.Use(id, inUse...)

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unresolved == nil {
		l.unresolved = map[schema.GroupKind]map[object.ID][]relation.Ref{}
	}
	for _, looking := range l.unresolved {
		delete(looking, id) // It may have looked for another kind before.
	}
	for _, s := range both {
		ref := looksFor(u, s.resource, l.watcher)
		if len(edges) > 0 || ref.Selector == nil {
			continue
		}
		gk := ref.GroupKind()
		if l.unresolved[gk] == nil {
			l.unresolved[gk] = map[object.ID][]relation.Ref{}
		}
		l.unresolved[gk][id] = append(l.unresolved[gk][id], ref)
	}
}

// hold decides whether an object is kept. While a Usage can't be read, nothing is free.
func (l *ledger) hold(obj relation.Object) relation.Hold {
	hold := l.On(obj)
	if hold == relation.Free && l.unread() {
		return relation.Undecided
	}
	return hold
}
