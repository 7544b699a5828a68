package usage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// ask looks further when the lock is there and memory knows no reason for it: the
// lock is just being taken off, or was just put on by the replica that leads, or
// somebody else put the label on. Nothing that is in memory can decide then, as a
// watch may be late, in the replica that leads too, which may lead since a moment
// ago. So everything that decides is read from the API server, unless the lock has
// gone meanwhile.
//
// The Usages are returned as they were read, as memory may not have them.
func (h *refuser) ask(ctx context.Context, obj relation.Object) (holders, error) {
	live, err := h.ledger.watcher.Live(ctx, obj.ID)
	if err != nil {
		return holders{}, unlessGone(err)
	}
	if live.UID != obj.UID || !h.lock.On(live) {
		return holders{}, nil
	}
	list, err := h.candidates(ctx, obj)
	if err != nil {
		return holders{}, err
	}
	read := map[object.ID]usage{}
	found := holders{get: func(id object.ID) usage { return read[id] }}
	look := sync.OnceValue(func() error { return h.ledger.watcher.Refresh(ctx) })
	for _, u := range list {
		if !mayConcern(u, obj) {
			continue
		}
		edges, err := h.inForce(ctx, u, obj, look)
		if err != nil {
			return holders{}, err
		}
		if len(edges) > 0 {
			read[identify(u)] = u
			found.edges = append(found.edges, edges...)
		}
	}
	return found, nil
}

// usedName is the field by which the API server selects Usages.
const usedName = "spec.of.resourceRef.name"

// candidates reads the Usages that can be about an object: those that name it, or none.
// What holds other objects may be held for any of them. All lists are read at once: the
// API server may take a tenth of a second for each, until it knows that it is up to date.
func (h *refuser) candidates(ctx context.Context, obj relation.Object) ([]usage, error) {
	gk := obj.ID.GroupKind()
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	var all []usage
	read := func(k kind, opts ...client.ListOption) {
		group.Go(func() error {
			list, err := listUsages(ctx, h.live, k, opts...)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, list...)
			return err
		})
	}
	for _, k := range kinds {
		if !k.selectable || gk == namespaceKind || gk == relation.DefinitionKind {
			read(k)
			continue
		}
		read(k, client.MatchingFields{usedName: obj.ID.Name})
		read(k, client.MatchingFields{usedName: ""})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b usage) int { return object.Compare(identify(a), identify(b)) })
	return all, nil
}

// mayConcern reports whether a Usage can be about an object, as far as its kind tells. What
// holds other objects may be held for any of them.
func mayConcern(u usage, obj relation.Object) bool {
	gk := obj.ID.GroupKind()
	return gk == namespaceKind || gk == relation.DefinitionKind || gk == kindNamed(&u.UsageSpec().Of)
}

// inForce returns the edges by which a Usage keeps an object. look reads what the cluster
// serves.
func (h *refuser) inForce(
	ctx context.Context, u usage, obj relation.Object, look func() error,
) ([]relation.Edge, error) {
	if h.ledger.hasReleased(u) {
		return nil, nil
	}
	if err := h.learn(u, look); err != nil {
		return nil, err
	}
	var blocking []relation.Edge
	for _, e := range extract(u, h.ledger.watcher) {
		if !e.Target.Matches(obj) {
			continue
		}
		permitted, err := h.permitted(ctx, u)
		if err != nil || !permitted {
			return nil, err
		}
		held, err := h.exists(ctx, e)
		if err != nil {
			return nil, err
		}
		if held {
			blocking = append(blocking, e)
		}
	}
	return blocking, nil
}

// learn looks again at what the cluster serves if a Usage names a kind that is not
// known: it may be as new as the Usage.
func (h *refuser) learn(u usage, look func() error) error {
	for _, s := range sides(u) {
		if _, err := mappingOf(s.resource, h.ledger.watcher); err != nil {
			return look()
		}
	}
	return nil
}

// permitted is that of the ledger, by the grants that there are now.
func (h *refuser) permitted(ctx context.Context, u usage) (bool, error) {
	var failed error
	permitted := h.ledger.permittedBy(u, func(namespace string) []kinshipv1alpha1.ReferenceGrant {
		var list kinshipv1alpha1.ReferenceGrantList
		if err := h.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			failed = fmt.Errorf("list ReferenceGrants: %w", err)
		}
		return list.Items
	})
	return permitted, failed
}

// exists reports whether what an edge needs to be in force exists now.
func (h *refuser) exists(ctx context.Context, e relation.Edge) (bool, error) {
	if e.Content != nil {
		if found, err := h.existsAny(ctx, *e.Content); err != nil || !found {
			return false, err
		}
	}
	if e.Source.IsZero() {
		return true, nil
	}
	if e.Source.Selector != nil || e.SourceUID == "" {
		return h.existsAny(ctx, e.Source)
	}
	obj, err := h.ledger.watcher.Live(ctx, e.Source.ID)
	return err == nil && obj.UID == e.SourceUID, unlessGone(err)
}

// existsAny reports whether an end stands for any object now.
func (h *refuser) existsAny(ctx context.Context, ref relation.Ref) (bool, error) {
	if ref.Selector != nil {
		found, err := h.ledger.watcher.LiveAny(ctx, ref)
		return found, unlessGone(err)
	}
	_, err := h.ledger.watcher.Live(ctx, ref.ID)
	return err == nil, unlessGone(err)
}
