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

// holders are the edges that keep an object from being deleted, and the Usages that declare them.
type holders struct {
	edges []relation.Edge
	get   func(object.ID) usage // nil for an unknown Usage
}

// readHolders reads the holders of a locked object from the API server. readHolders is for a
// lock without a known Usage: the lock is about to be removed, another replica has just added
// the lock, or a user added the label. A late watch must not decide then, not even in the
// leader, so readHolders reads all objects that decide, unless the lock is gone.
//
// The Usages in holders are the Usages from the API server: the cache may not have them.
func (h *deletionHandler) readHolders(ctx context.Context, obj relation.Object) (holders, error) {
	live, err := h.ledger.watcher.Live(ctx, obj.ID)
	if err != nil {
		return holders{}, relation.IgnoreGone(err)
	}
	if live.UID != obj.UID || !h.lock.On(live) {
		return holders{}, nil
	}
	candidates, err := h.readCandidates(ctx, obj)
	if err != nil {
		return holders{}, err
	}
	read := map[object.ID]usage{}
	found := holders{get: func(id object.ID) usage { return read[id] }}
	refresh := sync.OnceValue(func() error { return h.ledger.watcher.Refresh(ctx) })
	for _, u := range candidates {
		if !mayHold(u, obj) || h.ledger.Released(identify(u), u.GetUID()) {
			continue
		}
		edges, err := h.readInForce(ctx, u, obj, refresh)
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

// readCandidates reads the Usages that may protect an object: Usages with
// spec.of.resourceRef.name of the object, and Usages without a name. Every Usage may hold a
// Namespace or a CustomResourceDefinition.
//
// All lists are read at the same time: the API server may need 100 ms for each list until its
// cache is up to date.
func (h *deletionHandler) readCandidates(ctx context.Context, obj relation.Object) ([]usage, error) {
	group, ctx := errgroup.WithContext(ctx)
	lists := make([][]usage, 2*len(kinds))
	for i, k := range kinds {
		options := []client.ListOption{client.MatchingFields{usedName: obj.ID.Name}, client.MatchingFields{usedName: ""}}
		if !k.selectable || isContainer(obj.ID.GroupKind()) {
			options = []client.ListOption{client.InNamespace("")}
		}
		for j, option := range options {
			group.Go(func() (err error) {
				lists[2*i+j], err = listUsages(ctx, h.live, k, option)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, func(a, b usage) int { return object.Compare(identify(a), identify(b)) })
	return all, nil
}

// mayHold reports whether a Usage may protect an object, by the object's kind.
func mayHold(u usage, obj relation.Object) bool {
	gk := obj.ID.GroupKind()
	return isContainer(gk) || gk == groupKindOf(&u.UsageSpec().Of)
}

// readInForce returns the edges by which a Usage holds an object now. If the Usage names an
// unknown kind, which may be as new as the Usage, readInForce calls refresh to read the served
// kinds.
func (h *deletionHandler) readInForce(
	ctx context.Context, u usage, obj relation.Object, refresh func() error,
) ([]relation.Edge, error) {
	for _, s := range sides(u) {
		if _, err := mappingOf(s.resource, h.ledger.watcher); err != nil {
			if err := refresh(); err != nil {
				return nil, err
			}
		}
	}
	var blocking []relation.Edge
	for _, e := range extract(u, h.ledger.watcher) {
		if !e.Target.Matches(obj) {
			continue
		}
		permitted, err := h.readPermitted(ctx, u)
		if err != nil || !permitted {
			return nil, err
		}
		holds, err := h.ledger.watcher.LiveHolds(ctx, e)
		if err != nil {
			return nil, err
		}
		if holds {
			blocking = append(blocking, e)
		}
	}
	return blocking, nil
}

// readPermitted is ledger.permitted with the ReferenceGrants in the API server.
func (h *deletionHandler) readPermitted(ctx context.Context, u usage) (bool, error) {
	var failed error
	permitted := h.ledger.permitted(u, func(namespace string) []kinshipv1alpha1.ReferenceGrant {
		var list kinshipv1alpha1.ReferenceGrantList
		if err := h.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			failed = fmt.Errorf("list ReferenceGrants: %w", err)
		}
		return list.Items
	})
	return permitted, failed
}
