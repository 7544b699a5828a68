package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// deletionHandler answers the API server before a locked object is deleted. deletionHandler runs in
// every replica.
type deletionHandler struct {
	ledger    *ledger
	lock      *guard.Lock
	live      client.Reader // without a cache
	client    client.Client // writes status.refused
	get       func(object.ID) usage
	reviewer  *authorise.Reviewer
	origin    pack.Origin // carries out everything that is more than an answer
	events    events.EventRecorder
	clock     clock.PassiveClock
	metrics   *metrics
	operators pack.Operators // user names of all accounts of the operator, whose refused deletions are not recorded
	expiry    time.Duration
}

// Handle implements admission.Handler. Handle answers from the ledger. If the object is locked
// and the ledger has no Usage of the object, Handle reads the Usages from the API server
// (readHolders).
func (h *deletionHandler) Handle(ctx context.Context, req admission.Request) admission.Response {
	start := h.clock.Now()
	defer func() { h.metrics.answers.Observe(h.clock.Since(start).Seconds()) }()
	obj, meta, err := requestedObject(ctx, h.ledger.watcher, req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	found := holders{edges: h.ledger.Holding(obj), get: h.get}
	if len(found.edges) == 0 && h.lock.On(obj) {
		if found, err = h.readHolders(ctx, obj); err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
	}
	found.edges, err = h.override(ctx, req, obj, meta, found)
	if errors.Is(err, errAskAgain) {
		return pack.AskAgain()
	}
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(found.edges) == 0 {
		return admission.Allowed("")
	}
	recorded, err := h.record(ctx, req, obj, found)
	if errors.Is(err, errAskAgain) {
		return pack.AskAgain()
	}
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !h.operators.Has(req.UserInfo.Username) {
		h.metrics.refusals.WithLabelValues(obj.ID.Group, obj.ID.Kind).Inc()
	}
	answer := refuse(obj, found)
	hint, err := h.recordedHint(ctx, req.UserInfo, obj, found, recorded)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	answer.Result.Message += hint + overrideHint(obj, found)
	return answer
}

// recordedHint returns the part of a refusal that says that the deletion is recorded, until
// when, and how to withdraw the record. Controllers of Kubernetes get no such text: they repeat
// a refused deletion themselves.
func (h *deletionHandler) recordedHint(
	ctx context.Context, user authenticationv1.UserInfo, obj relation.Object, found holders,
	recorded sharedv1alpha1.RefusedDeletion,
) (string, error) {
	if recorded.User == "" || pack.IsKubernetesController(recorded.User) {
		return "", nil
	}
	withdrawal, err := h.withdrawal(ctx, user, obj, found)
	return fmt.Sprintf(" The deletion is recorded, as %s asked for it: it is carried out as soon as nothing is in the "+
		"way, until %s. To withdraw it: %s", recorded.User,
		recorded.Time.Add(h.expiry).UTC().Format(time.RFC3339), withdrawal), err
}

// withdrawal returns the command with which the user withdraws a recorded deletion, or which right the user lacks for
// the command. The record is in the status of one of the Usages that hold the object.
func (h *deletionHandler) withdrawal(
	ctx context.Context, user authenticationv1.UserInfo, obj relation.Object, found holders,
) (string, error) {
	command := fmt.Sprintf("kubectl kinship withdraw %s%s", obj.ID.Words(), namespaceFlag(obj.ID))
	for _, e := range found.edges {
		u := found.get(e.Declarer)
		if u == nil || e.Content != nil || !wantsReplay(u, user.Username) {
			continue
		}
		k, _ := kindOf(e.Declarer.GroupKind())
		allowed, err := h.reviewer.Allowed(ctx, user, authorise.Action{
			Verb: "patch", Group: k.Group, Resource: k.resource, Subresource: "status", Namespace: e.Declarer.Namespace,
		})
		if err != nil || allowed {
			return command, err
		}
		return fmt.Sprintf("%s, which needs the verb patch on %s/status", command, k.resource), nil
	}
	return command, nil
}

// requestedObject returns the object that a request deletes, or the Pod of an eviction.
func requestedObject(
	ctx context.Context, watcher *relation.Watcher, req admission.Request,
) (relation.Object, *metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	if req.Operation == admissionv1.Create && req.SubResource == "eviction" {
		pod := object.ID{Kind: "Pod", Namespace: req.Namespace, Name: req.Name}
		meta.Name, meta.Namespace = pod.Name, pod.Namespace
		obj, presence := watcher.Get(pod)
		if presence == relation.Present {
			return obj, meta, nil
		}
		obj, err := watcher.Live(ctx, pod) // The label decides, and is not known yet.
		return obj, meta, relation.IgnoreGone(err)
	}
	if req.Operation != admissionv1.Delete {
		return relation.Object{}, nil, fmt.Errorf("unexpected operation %q, expected %q", req.Operation, admissionv1.Delete)
	}
	if err := json.Unmarshal(req.OldObject.Raw, meta); err != nil {
		return relation.Object{}, nil, fmt.Errorf("read the object to be deleted: %w", err)
	}
	return relation.ObjectOf(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, meta), meta, nil
}

func refuse(obj relation.Object, found holders) admission.Response {
	refusal := guard.Refusal{Target: obj.ID, UID: obj.UID}
	for _, e := range found.edges {
		b := guard.Blocker{Declarer: e.Declarer}
		if !e.Source.IsZero() {
			b.By = shortText(e.Source)
		} else if u := found.get(e.Declarer); u != nil && u.UsageSpec().Reason != nil {
			b.Reason = *u.UsageSpec().Reason
		}
		if e.Content != nil {
			b.Content = shortText(*e.Content)
		}
		refusal.Blockers = append(refusal.Blockers, b)
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false, Result: refusal.Status(),
	}}
}

func shortText(ref relation.Ref) string {
	if ref.Selector != nil {
		return ref.String()
	}
	return ref.Short()
}

func isDryRun(req admission.Request) bool { return req.DryRun != nil && *req.DryRun }

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
