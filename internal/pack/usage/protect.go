package usage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// side is spec.of or spec.by.
type side struct {
	field    string
	resource *sharedv1alpha1.Resource
	missing  string // reason when a named object does not exist
}

func sides(u usage) []side {
	spec := u.UsageSpec()
	both := []side{{"spec.of", &spec.Of, sharedv1alpha1.ReasonUsedNotFound}}
	if spec.By != nil {
		both = append(both, side{"spec.by", spec.By, sharedv1alpha1.ReasonUsingNotFound})
	}
	return both
}

// disclaim drops what anybody may have written while admission asks nobody: it would be
// believed once it does.
func (r *reconciler) disclaim(ctx context.Context, p *pass) reconcile.Outcome {
	if r.ledger.trusting {
		return reconcile.Outcome{}
	}
	p.UsageStatus().Refused = nil
	if _, claimed := p.GetAnnotations()[authorityAnnotation]; !claimed {
		return reconcile.Outcome{}
	}
	annotations := maps.Clone(p.GetAnnotations())
	delete(annotations, authorityAnnotation)
	p.SetAnnotations(annotations)
	return reconcile.Fail(sharedv1alpha1.ReasonFailed, r.writeObject(ctx, p))
}

// check finds out whether the Usage can be fulfilled as it is written.
func (r *reconciler) check(ctx context.Context, p *pass) reconcile.Outcome {
	outcome := problems(p.usage, r.watcher)
	if outcome.Worst().State == reconcile.Invalid {
		return outcome
	}
	if !r.ledger.permitted(p.usage) {
		return reconcile.Refuse(sharedv1alpha1.ReasonNotGranted,
			"spec.of: namespace %s has no ReferenceGrant for %s; ask its administrators for one",
			namespaceOf(p.usage, &p.UsageSpec().Of), p.id)
	}
	if !outcome.IsDone() {
		return outcome
	}
	for _, e := range r.ledger.Declared.Declared(p.id) {
		if e.Content != nil {
			continue
		}
		// Where there is too much to look at, protection comes first.
		if ring, err := r.ledger.Ring(ctx, e); err == nil && ring != nil {
			return reconcile.Refuse(sharedv1alpha1.ReasonCycle,
				"the resources use each other in a circle: %s; delete one of the Usages", printRing(ring))
		}
	}
	return reconcile.Outcome{}
}

// problems returns what is wrong with a Usage in itself.
func problems(u usage, kinds relation.Kinds) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(u) {
		if s.field == "spec.by" && u.GetNamespace() != "" && namespaceOf(u, s.resource) != u.GetNamespace() {
			outcome = outcome.And(reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
				"spec.by: the using resource must be in the Usage's own namespace %s: create the Usage in namespace %s",
				u.GetNamespace(), namespaceOf(u, s.resource)))
		}
		if gk := kindNamed(s.resource); s.field == "spec.of" && gk.Group == guard.ConfigurationKind.Group {
			outcome = outcome.And(reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
				"spec.of: %s can't be protected: the API server asks nobody before it deletes one", gk))
		}
		if err := outside(u, s, kinds); err != nil {
			outcome = outcome.And(reconcile.Refuse(sharedv1alpha1.ReasonInvalid, "%s: %s", s.field, err))
		}
		outcome = outcome.And(kindProblem(s, kindNamed(s.resource).WithVersion(""), kinds))
		if _, err := end(u, s.resource, kinds); err != nil && unlessGone(err) != nil {
			outcome = outcome.And(reconcile.Refuse(sharedv1alpha1.ReasonInvalid, "%s: %s", s.field, err))
		}
	}
	if of, err := end(u, &u.UsageSpec().Of, kinds); err == nil && of == relation.Named(identify(u)) {
		return reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
			"spec.of: a Usage can't protect itself: who may delete Usages could never delete this one")
	}
	if outcome.IsDone() && usesItself(u, kinds) {
		return reconcile.Refuse(sharedv1alpha1.ReasonInvalid,
			"spec.by: a resource can't use itself; to protect it for its own sake leave spec.by out and give spec.reason")
	}
	return outcome
}

// versions finds out whether the versions are served that the Usage names. What it
// says holds for the objects in whatever version, so nothing waits for that.
func versions(u usage, kinds relation.Kinds) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(u) {
		gvk := schema.FromAPIVersionAndKind(s.resource.APIVersion, s.resource.Kind)
		outcome = outcome.And(kindProblem(s, gvk, kinds))
	}
	return outcome
}

// kindProblem says that the cluster does not serve a kind that one side names, or
// can't tell.
func kindProblem(s side, gvk schema.GroupVersionKind, kinds relation.Kinds) reconcile.Outcome {
	_, err := kinds.Mapping(gvk)
	switch {
	case err == nil:
		return reconcile.Outcome{}
	case gone(err):
		return reconcile.Wait(sharedv1alpha1.ReasonKindNotFound, "%s: %s; waiting for it to be installed", s.field, err)
	default:
		return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: %s", s.field, err)
	}
}

func usesItself(u usage, kinds relation.Kinds) bool {
	spec := u.UsageSpec()
	if spec.By == nil {
		return false
	}
	of, errOf := end(u, &spec.Of, kinds)
	by, errBy := end(u, spec.By, kinds)
	return errOf == nil && errBy == nil && !of.IsZero() && of.Equal(by)
}

func printRing(ring []object.ID) string {
	names := make([]string, 0, len(ring))
	for _, id := range ring {
		names = append(names, id.Short())
	}
	return strings.Join(names, " -> ")
}

// resolve turns selectors into references, once. The oldest match is taken, so
// that the same objects always give the same answer.
func (r *reconciler) resolve(_ context.Context, p *pass) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, s := range sides(p.usage) {
		selector := s.resource.ResourceSelector
		if (s.resource.ResourceRef != nil && s.resource.ResourceRef.Name != "") || selector == nil ||
			(selector.MatchAll != nil && *selector.MatchAll) {
			continue
		}
		outcome = outcome.And(r.choose(p, s))
	}
	return outcome
}

func (r *reconciler) choose(p *pass, s side) reconcile.Outcome {
	gk := kindNamed(s.resource)
	ref := looksFor(p.usage, s.resource, r.watcher)
	objects, known := r.watcher.List(ref)
	if !known {
		return r.reading(gk, s.field)
	}
	objects = slices.DeleteFunc(objects, func(o relation.Object) bool { return o.Deleting })
	if len(objects) == 0 {
		return reconcile.Wait(sharedv1alpha1.ReasonSelectorUnmatched, "%s: waiting for %s", s.field, ref)
	}
	s.resource.ResourceRef = &sharedv1alpha1.ResourceRef{Name: objects[0].ID.Name}
	if ns := objects[0].ID.Namespace; ns != p.GetNamespace() {
		s.resource.ResourceRef.Namespace = ns
	}
	return reconcile.Outcome{}
}

// reading says why the objects of a kind are not known.
func (r *reconciler) reading(gk schema.GroupKind, field string) reconcile.Outcome {
	if err := r.watcher.Problem(gk); err != nil {
		return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: can't watch %s: %s", field, gk, err)
	}
	return reconcile.Wait(sharedv1alpha1.ReasonReading, "%s: waiting for %s objects to be read", field, gk)
}

// bind ties the Usage to the very object that uses the other one. What is bound
// once is never bound anew: when that object is gone, so is the protection.
func (r *reconciler) bind(ctx context.Context, p *pass) reconcile.Outcome {
	spec, status := p.UsageSpec(), p.UsageStatus()
	if spec.By == nil {
		return r.unbind(p)
	}
	source, err := end(p.usage, spec.By, r.watcher)
	if err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	if source.Selector != nil {
		r.unbind(p)
		if members, known := r.watcher.List(source); !known {
			return r.record(ctx, p).And(r.reading(source.GroupKind(), "spec.by"))
		} else if len(members) == 0 {
			return r.record(ctx, p).And(reconcile.Wait(
				sharedv1alpha1.ReasonUsingNotFound, "spec.by: waiting for %s", source))
		}
		return reconcile.Outcome{}
	}
	obj, presence := r.watcher.Get(source.ID)
	if presence == relation.Unknown {
		return r.reading(source.GroupKind(), "spec.by")
	}
	bound := status.Using
	if bound != nil && identifyBound(bound) != source.ID {
		r.unbind(p) // The spec names another one now.
		bound = nil
	}
	if bound != nil && (presence == relation.Absent || obj.UID != bound.UID) {
		return r.usingGone(ctx, p, source.ID)
	}
	if presence == relation.Absent {
		// Recorded even so, or the Usage would go with an owner that it has no more.
		return r.record(ctx, p).And(reconcile.Wait(sharedv1alpha1.ReasonUsingNotFound,
			"spec.by: waiting for %s to exist; nothing is protected until then", source))
	}
	binding := bindTo(obj)
	status.Using = &binding
	own(p.usage, obj)
	return reconcile.Outcome{}
}

// unbind removes what bound the Usage to a using object.
func (r *reconciler) unbind(p *pass) reconcile.Outcome {
	if bound := p.UsageStatus().Using; bound != nil {
		p.SetOwnerReferences(slices.DeleteFunc(p.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
			return o.UID == bound.UID && (o.Controller == nil || !*o.Controller)
		}))
		p.UsageStatus().Using = nil
	}
	return reconcile.Outcome{}
}

// own adds the using object to the Usage's owners (seed 3, "Owner references"),
// where an owner reference can express that: not from outside a namespace into
// another one.
func own(u usage, using relation.Object) {
	if using.ID.Namespace != "" && using.ID.Namespace != u.GetNamespace() {
		return
	}
	owners := u.GetOwnerReferences()
	if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == using.UID }) {
		return
	}
	u.SetOwnerReferences(append(slices.Clone(owners), metav1.OwnerReference{
		APIVersion: u.UsageSpec().By.APIVersion, Kind: using.ID.Kind, Name: using.ID.Name, UID: using.UID,
	}))
}

// usingGone ends a protection whose using object is gone: the Usage goes with it.
// A Usage that something else controls would only be made anew, so it stays,
// holds nothing, and is bound again when there is something to bind it to.
func (r *reconciler) usingGone(ctx context.Context, p *pass, id object.ID) reconcile.Outcome {
	bound := p.UsageStatus().Using
	if o := r.confirmEnd(ctx, p, id, bound.UID); !o.IsDone() {
		return o
	}
	if metav1.GetControllerOfNoCopy(p.usage) != nil {
		r.tellEnded(p, bound)
		p.UsageStatus().Using = nil
		return reconcile.Wait(sharedv1alpha1.ReasonUsingNotFound, "spec.by: waiting for %s to exist again", id)
	}
	uid := p.GetUID()
	if p.over = r.ends.isDeleted(p.id, uid); p.over { // The watch is late.
		return reconcile.Progress(sharedv1alpha1.ReasonReleasing, "%s is gone, so is the protection", id)
	}
	err := r.client.Delete(ctx, p.usage, client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("delete %s: %w", p.id, err))
	}
	if err == nil {
		r.ends.deleted(p.id, uid)
	}
	p.over = true
	return reconcile.Progress(sharedv1alpha1.ReasonReleasing, "%s is gone, so is the protection", id)
}

// confirmEnd is done when a using object is gone for sure: the API server has told of its
// end, or a live read finds it no more.
func (r *reconciler) confirmEnd(ctx context.Context, p *pass, id object.ID, uid types.UID) reconcile.Outcome {
	if r.ledger.hasEnded(p.id, uid) {
		return reconcile.Outcome{}
	}
	obj, err := r.watcher.Live(ctx, id)
	switch {
	case err == nil && obj.UID == uid:
		return reconcile.WaitFor(reconcile.ConflictRetry, sharedv1alpha1.ReasonReading, "spec.by: waiting for news of %s", id)
	case err != nil && !gone(err):
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	return reconcile.Outcome{}
}

// gone reports whether an error says that an object does not exist, for sure. Where
// nothing is served any more the API server finds nothing either: the kind may have
// moved on to another version.
func gone(err error) bool {
	var kindErr *watch.KindError
	return errors.As(err, &kindErr) || (apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err))
}

// unlessGone returns the error unless it says that there is no such object, or no
// such kind.
func unlessGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// record writes everything that the steps before decided about the Usage itself,
// in one request: finalizer, owner, resolved references, details.
func (r *reconciler) record(ctx context.Context, p *pass) reconcile.Outcome {
	controllerutil.AddFinalizer(p.usage, finalizer)
	if details := describe(p.usage); p.GetAnnotations()[detailsAnnotation] != details {
		annotations := map[string]string{}
		maps.Copy(annotations, p.GetAnnotations())
		annotations[detailsAnnotation] = details
		p.SetAnnotations(annotations)
	}
	return reconcile.Fail(sharedv1alpha1.ReasonFailed, r.writeObject(ctx, p))
}

// writeObject writes metadata and spec where they differ from what was read. The
// status that the steps decided survives it.
func (r *reconciler) writeObject(ctx context.Context, p *pass) error {
	status := *p.UsageStatus()
	*p.UsageStatus() = *p.seen.UsageStatus()
	patch := client.MergeFromWithOptions(p.seen, client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(p.usage)
	if err != nil {
		return fmt.Errorf("compare %s: %w", p.id, err)
	}
	if string(data) != "{}" && !onlyLocks(data) {
		if err := r.client.Patch(ctx, p.usage, client.RawPatch(patch.Type(), data)); err != nil {
			return fmt.Errorf("write %s: %w", p.id, err)
		}
		r.writes.Wrote(p.id, p.GetResourceVersion())
	}
	*p.UsageStatus() = status
	return nil
}
