package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// overrideAnnotation, on a protected object, names the Usages ("name" or
// "namespace/name", separated by commas) that a deletion is to ignore. It is a
// wish, not a right: it counts only for a user with the verb override on them.
const overrideAnnotation = "kinship.dev/override-usage"

// refuser answers the API server when a locked object is to be deleted. It runs
// in every replica.
type refuser struct {
	ledger   *ledger
	lock     *guard.Lock
	live     client.Reader // without a cache
	status   client.StatusClient
	get      func(object.ID) usage
	reviewer *authorise.Reviewer
	events   events.EventRecorder
	clock    clock.PassiveClock
	metrics  *metrics
	operator string // our own user name
	expiry   time.Duration
	// leads reports whether this replica runs the controllers.
	leads func() bool
	// heard waits until the ledger knows everything there was at the start.
	heard func(context.Context) bool
}

// hearing bounds that wait: the API server gives us three seconds.
const hearing = 2 * time.Second

// Handle implements admission.Handler. The answer comes from memory; where the
// lock is there but memory knows no reason for it, from the API server.
func (h *refuser) Handle(ctx context.Context, req admission.Request) admission.Response {
	start := h.clock.Now()
	defer func() { h.metrics.answered(h.clock.Since(start)) }()
	obj, meta, err := h.subject(ctx, req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	blocking := h.ledger.blocking(obj)
	if len(blocking) == 0 && h.lock.On(obj) {
		if blocking, err = h.ask(ctx, obj); err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
	}
	blocking, err = h.override(ctx, req, meta, blocking)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if len(blocking) == 0 {
		return admission.Allowed("")
	}
	if err := h.record(ctx, req, obj, blocking); err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if req.UserInfo.Username != h.operator {
		h.metrics.blocked(obj.ID.GroupKind())
	}
	return h.refuse(obj, blocking)
}

// subject returns the object that a request would delete.
func (h *refuser) subject(
	ctx context.Context, req admission.Request,
) (relation.Object, *metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	if req.Operation == admissionv1.Create && req.SubResource == "eviction" {
		pod := object.ID{Kind: "Pod", Namespace: req.Namespace, Name: req.Name}
		meta.Name, meta.Namespace = pod.Name, pod.Namespace
		obj, presence := h.ledger.watcher.Get(pod)
		if presence == relation.Present {
			return obj, meta, nil
		}
		// Only the label says whether to ask further, and it is not known yet.
		obj, err := h.ledger.watcher.Live(ctx, pod)
		if err != nil && !gone(err) {
			return obj, meta, err
		}
		return obj, meta, nil
	}
	if req.Operation != admissionv1.Delete {
		return relation.Object{}, nil, fmt.Errorf("unexpected operation %q, expected %q", req.Operation, admissionv1.Delete)
	}
	if err := json.Unmarshal(req.OldObject.Raw, meta); err != nil {
		return relation.Object{}, nil, fmt.Errorf("read the object to be deleted: %w", err)
	}
	return relation.ObjectOf(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind}, meta), meta, nil
}

func (h *refuser) refuse(obj relation.Object, blocking []relation.Edge) admission.Response {
	refusal := guard.Refusal{Target: obj.ID, UID: obj.UID}
	for _, e := range blocking {
		b := guard.Blocker{Declarer: e.Declarer}
		if !e.Source.IsZero() {
			b.By = short(e.Source)
		} else if u := h.get(e.Declarer); u != nil && u.UsageSpec().Reason != nil {
			b.Reason = *u.UsageSpec().Reason
		}
		if e.Content != nil {
			b.Content = short(*e.Content)
		}
		refusal.Blockers = append(refusal.Blockers, b)
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{
		Allowed: false, Result: refusal.Status(),
	}}
}

func short(ref relation.Ref) string {
	if ref.Selector != nil {
		return ref.String()
	}
	return ref.Short()
}

// ask looks further when the lock is there and memory knows no reason for it: the
// lock is just being taken off, or was just put on by the replica that leads, or
// somebody else put the label on. The leader need not ask: no Usage is Ready that
// it did not make so. Any other replica reads the Usages that can be about the
// object from the API server, unless the lock has gone meanwhile.
func (h *refuser) ask(ctx context.Context, obj relation.Object) ([]relation.Edge, error) {
	if h.leads() {
		return nil, nil
	}
	live, err := h.ledger.watcher.Live(ctx, obj.ID)
	switch {
	case err != nil && !gone(err):
		return nil, err
	case err != nil, live.UID != obj.UID, !h.lock.On(live):
		return nil, nil
	}
	soon, cancel := context.WithTimeout(ctx, hearing)
	defer cancel()
	if !h.heard(soon) {
		return nil, errors.New("the operator has just started and is still reading Usages: try again")
	}
	var blocking []relation.Edge
	for _, k := range kinds {
		list, err := h.candidates(ctx, k, obj.ID.Name)
		if err != nil {
			return nil, err
		}
		for _, u := range list {
			if h.ledger.hasReleased(u) || !h.ledger.permitted(u) {
				continue
			}
			for _, e := range extract(u, h.ledger.watcher) {
				if e.Target.Matches(obj) && h.ledger.inForce(e) != guard.Free {
					blocking = append(blocking, e)
				}
			}
		}
	}
	return blocking, nil
}

// usedName is the field by which the API server selects Usages.
const usedName = "spec.of.resourceRef.name"

// candidates reads the Usages of a kind that name an object, or none.
func (h *refuser) candidates(ctx context.Context, k kind, name string) ([]usage, error) {
	if !k.selectable {
		return listUsages(ctx, h.live, k)
	}
	named, err := listUsages(ctx, h.live, k, client.MatchingFields{usedName: name})
	if err != nil {
		return nil, err
	}
	sets, err := listUsages(ctx, h.live, k, client.MatchingFields{usedName: ""})
	return append(named, sets...), err
}

// override drops the Usages that the object's annotation names, if the user who
// deletes has the right to.
func (h *refuser) override(
	ctx context.Context, req admission.Request, meta *metav1.PartialObjectMetadata, blocking []relation.Edge,
) ([]relation.Edge, error) {
	if len(blocking) == 0 {
		return blocking, nil
	}
	if req.SubResource == "eviction" { // Such a request does not show the Pod.
		meta = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		if err := h.live.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, meta); err != nil {
			return blocking, client.IgnoreNotFound(fmt.Errorf("read Pod %s/%s: %w", req.Namespace, req.Name, err))
		}
	}
	wish := meta.Annotations[overrideAnnotation]
	if wish == "" {
		return blocking, nil
	}
	var left []relation.Edge
	for _, e := range blocking {
		k, _ := kindOf(e.Declarer.GroupKind())
		if !named(wish, e.Declarer) {
			left = append(left, e)
			continue
		}
		ok, err := h.reviewer.Allowed(ctx, req.UserInfo, authorise.Action{
			Verb: "override", Group: k.Group, Resource: k.resource,
			Namespace: e.Declarer.Namespace, Name: e.Declarer.Name,
		})
		if err != nil {
			return nil, err
		}
		if !ok {
			left = append(left, e)
			continue
		}
		if u := h.get(e.Declarer); u != nil && !dryRun(req) {
			h.events.Eventf(u, nil, "Warning", "Overridden", "Delete",
				"%s deleted %s/%s despite this Usage", req.UserInfo.Username, req.Kind.Kind, meta.Name)
		}
	}
	return left, nil
}

func named(wish string, id object.ID) bool {
	for name := range strings.SplitSeq(wish, ",") {
		name = strings.TrimSpace(name)
		if name == id.Name || name == id.Namespace+"/"+id.Name {
			return true
		}
	}
	return false
}

func dryRun(req admission.Request) bool { return req.DryRun != nil && *req.DryRun }
