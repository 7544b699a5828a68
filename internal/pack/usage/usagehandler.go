package usage

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// authorityAnnotation is set to authorityAuthor on a Usage of an object in another namespace if
// the author of the Usage may delete that object. Without the annotation, a ReferenceGrant must
// allow the Usage. The mutating webhook sets the annotation and the validating webhook refuses
// any other value, so that no user can write the annotation.
const (
	authorityAnnotation = "kinship.dev/authority"
	authorityAuthor     = "author"
)

// usageHandler completes and validates Usages when they are created or changed. usageHandler
// runs in every replica.
type usageHandler struct {
	ledger    *ledger
	reviewer  *authorise.Reviewer
	operators pack.Operators // user names of the operator
	// limit is [Options.MaxPerNamespace]; number returns the number of Usages in a namespace.
	limit  int
	number func(namespace string) int
}

// decode reads the new and, on update, the old Usage of a request.
func decode(req admission.Request) (u, old usage, err error) {
	k, ok := kindOf(schema.GroupKind{Group: req.Kind.Group, Kind: req.Kind.Kind})
	if !ok {
		return nil, nil, fmt.Errorf("unexpected kind %s", req.Kind.Kind)
	}
	u, old, err = pack.Decode(req, k.new)
	if err == nil && u.GetNamespace() == "" {
		u.SetNamespace(req.Namespace)
	}
	return u, old, err
}

// Default is the mutating handler. Default adds the finalizer, the details annotation and, if
// the using object is known, the ownerReference to a new Usage, which saves the controller a
// write. Default sets authorityAnnotation, and removes the ownerReferences of a backup that
// have a former UID.
func (h *usageHandler) Default(ctx context.Context, req admission.Request) admission.Response {
	u, old, err := decode(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	judged := h.dropFormerOwners(ctx, u, old)
	if old == nil {
		finalizer.Add(u)
	}
	if old == nil && !judged {
		h.addKnownOwner(u)
	}
	authority, err := h.authority(ctx, req.UserInfo, u, old)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	annotations := map[string]string{}
	maps.Copy(annotations, u.GetAnnotations())
	if old == nil {
		annotations[detailsAnnotation] = describe(u)
	}
	delete(annotations, authorityAnnotation)
	if authority != "" {
		annotations[authorityAnnotation] = authority
	}
	u.SetAnnotations(annotations)
	return pack.PatchMetadata(req, u)
}

// addKnownOwner adds the using object to the owners of a new Usage, if the cache has the object.
func (h *usageHandler) addKnownOwner(u usage) {
	source, ok := h.usingObject(u)
	if !ok {
		return
	}
	if obj, presence := h.ledger.watcher.Get(source.ID); presence == relation.Present {
		addOwner(u, obj)
	}
}

// Handle implements admission.Handler. Handle refuses a Usage that can never work, that closes
// a ring of Usages, or whose author has too few rights.
func (h *usageHandler) Handle(ctx context.Context, req admission.Request) admission.Response {
	if h.operators.Has(req.UserInfo.Username) {
		return admission.Allowed("")
	}
	u, old, err := decode(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.SubResource == "status" {
		return h.status(ctx, req.UserInfo, u, old)
	}
	if err := h.checkAuthority(ctx, req.UserInfo, u, old); err != nil {
		return pack.Forbidden(err.Error())
	}
	if old != nil && unchanged(u, old) {
		return admission.Allowed("")
	}
	if old == nil && h.full(u.GetNamespace()) {
		return pack.Forbidden(fmt.Sprintf(
			"namespace %s already has %d Usages, the limit of this cluster (--usage-max-per-namespace): "+
				"delete one, or protect several objects with one Usage", u.GetNamespace(), h.limit))
	}
	if problem := problems(u, h.ledger.watcher).Worst(); problem.State == reconcile.Invalid {
		return pack.Unprocessable(problem.Message)
	}
	allowed, err := h.mayReach(ctx, req.UserInfo, u)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !allowed {
		return pack.Forbidden(fmt.Sprintf(
			"user %q lacks rights for this Usage: needed are the verb get on the object of spec.by, and the verb delete "+
				"or protect on the object of spec.of or a ReferenceGrant in its namespace", req.UserInfo.Username))
	}
	return h.checkRing(ctx, u)
}

// full reports whether a namespace has reached the limit of Usages. Usages that are created at the
// same moment may not be counted yet.
func (h *usageHandler) full(namespace string) bool {
	return h.limit > 0 && namespace != "" && h.number(namespace) >= h.limit
}

// checkAuthority refuses a value of authorityAnnotation that Default would not set.
func (h *usageHandler) checkAuthority(ctx context.Context, user authenticationv1.UserInfo, u, old usage) error {
	have := u.GetAnnotations()[authorityAnnotation]
	if have == "" {
		return nil
	}
	want, err := h.authority(ctx, user, u, old)
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("only Kinship sets annotation %s", authorityAnnotation)
	}
	return nil
}

// checkRing refuses a Usage that closes a ring. After [relation.ErrTooMany], checkRing allows
// the Usage with a warning: the object is protected either way, and a user with thousands of
// Usages must not keep other users from protecting their objects.
func (h *usageHandler) checkRing(ctx context.Context, u usage) admission.Response {
	finalizer.Add(u)
	for _, e := range extract(u, h.ledger.watcher) {
		if e.Content != nil {
			continue
		}
		ring, err := h.ledger.Ring(ctx, e)
		if err != nil {
			return admission.Allowed("").WithWarnings(fmt.Sprintf("behind %s %s", e.Target, err))
		}
		if ring != nil {
			return pack.Unprocessable(fmt.Sprintf(
				"the resources would use each other in a circle: %s", ringText(ring)))
		}
	}
	return admission.Allowed("")
}

// unchanged reports whether a Usage names the same objects as before: its spec is the same and, if a
// selector has matchControllerRef, its controller.
func unchanged(u, old usage) bool {
	for _, s := range sides(u) {
		if !namesSame(u, old, s.resource, s.resource) {
			return false
		}
	}
	return equality.Semantic.DeepEqual(u.UsageSpec(), old.UsageSpec())
}

// namesSame reports whether a resource of a Usage names the same objects as a resource of the former Usage.
func namesSame(u, old usage, now, before *sharedv1alpha1.Resource) bool {
	if !equality.Semantic.DeepEqual(now, before) {
		return false
	}
	selector := now.ResourceSelector
	if now.ResourceRef != nil || selector == nil || selector.MatchControllerRef == nil {
		return true
	}
	return selectorOf(u, selector).Controller == selectorOf(old, selector).Controller
}

// authority returns the value of authorityAnnotation. A write that changes nothing keeps the former value. A user who
// leaves spec.of does not lend the user's rights to the author of spec.of, for example by another spec.reason:
// the value is set only if it was set before, and the user has the rights too.
func (h *usageHandler) authority(ctx context.Context, user authenticationv1.UserInfo, u, old usage) (string, error) {
	if old != nil {
		before := old.GetAnnotations()[authorityAnnotation]
		same := namesSame(u, old, &u.UsageSpec().Of, &old.UsageSpec().Of)
		if h.operators.Has(user.Username) || unchanged(u, old) || before == "" && same {
			return before, nil
		}
	}
	if !reachesOut(u) {
		return "", nil
	}
	ok, err := h.mayProtect(ctx, user, u)
	if err != nil || !ok {
		return "", err
	}
	return authorityAuthor, nil
}

// mayReach reports whether a user may create this Usage.
func (h *usageHandler) mayReach(ctx context.Context, user authenticationv1.UserInfo, u usage) (bool, error) {
	if by := u.UsageSpec().By; by != nil {
		ok, err := h.may(ctx, user, "get", u, by)
		if err != nil || !ok {
			return false, err
		}
	}
	ok, err := h.mayProtect(ctx, user, u)
	if err != nil || ok {
		return ok, err
	}
	return h.ledger.granted(u, h.ledger.grants), nil
}

func (h *usageHandler) mayProtect(ctx context.Context, user authenticationv1.UserInfo, u usage) (bool, error) {
	ok, err := h.may(ctx, user, "delete", u, &u.UsageSpec().Of)
	if err != nil || ok {
		return ok, err
	}
	return h.may(ctx, user, "protect", u, &u.UsageSpec().Of)
}

// may asks whether a user has a verb on the object that spec.of or spec.by names or, for a
// selector, on the kind in that namespace. The resource of a kind that is not served is unknown, so
// the verb is needed on every resource of the group in all namespaces.
func (h *usageHandler) may(
	ctx context.Context, user authenticationv1.UserInfo, verb string, u usage, r *sharedv1alpha1.Resource,
) (bool, error) {
	gk := groupKindOf(r)
	action := authorise.Action{Verb: verb, Group: gk.Group, Resource: "*"}
	mapping, err := h.ledger.watcher.Mapping(gk.WithVersion(""))
	if err == nil {
		action.Resource = mapping.Resource.Resource
	}
	if err == nil && mapping.Namespaced {
		action.Namespace = namespaceOf(u, r)
	}
	if r.ResourceRef != nil {
		action.Name = r.ResourceRef.Name
	}
	return h.reviewer.Allowed(ctx, user, action)
}

// dropFormerOwners removes the ownerReferences of a Usage that name the using object with
// another UID than the object has, and reports whether there were new ownerReferences to check.
// A backup has such ownerReferences, because a restored object gets a new UID. The garbage
// collector would delete the Usage for them, and the protection would end without an event.
//
// The UID is read from the API server, because the cache may be late. If the read fails, the
// ownerReference is removed, too: bindUsing adds the using object later.
func (h *usageHandler) dropFormerOwners(ctx context.Context, u, old usage) bool {
	source, ok := h.usingObject(u)
	if !ok {
		return false
	}
	known := map[types.UID]bool{}
	if old != nil {
		for _, o := range old.GetOwnerReferences() {
			known[o.UID] = true
		}
	}
	added := func(o metav1.OwnerReference) bool { return !known[o.UID] && refersTo(o, source) }
	owners := u.GetOwnerReferences()
	if !slices.ContainsFunc(owners, added) {
		return false
	}
	live, err := h.ledger.watcher.Live(ctx, source.ID)
	u.SetOwnerReferences(slices.DeleteFunc(slices.Clone(owners), func(o metav1.OwnerReference) bool {
		return added(o) && (err != nil || o.UID != live.UID)
	}))
	if err == nil {
		addOwner(u, live)
	}
	return true
}

// usingObject returns the object that spec.by names by name.
func (h *usageHandler) usingObject(u usage) (relation.Ref, bool) {
	by := u.UsageSpec().By
	if by == nil {
		return relation.Ref{}, false
	}
	source, err := refOf(u, by, h.ledger.watcher)
	return source, err == nil && !source.IsZero() && source.Selector == nil
}

// refersTo reports whether an ownerReference names an object, with any UID and version.
func refersTo(o metav1.OwnerReference, to relation.Ref) bool {
	gvk := schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
	return o.Name == to.Name && gvk.GroupKind() == to.GroupKind()
}
