package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// authorityAnnotation says on what a Usage that reaches into another namespace
// rests: authorityAuthor when its author has the rights there himself. Without
// it a ReferenceGrant is needed, at all times. The mutating handler sets it and
// the validating one refuses any other value, so a user can't write it.
const (
	authorityAnnotation = "kinship.dev/authority"
	authorityAuthor     = "author"
)

// validator judges Usages when they are created and changed. It runs in every
// replica.
type validator struct {
	ledger    *ledger
	reviewer  *authorise.Reviewer
	operators pack.Operators // our own user names
	// most is how many Usages a namespace may have, 0 for any number; number counts them.
	most   int
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

// Default gives a new Usage its finalizer, its details and, where the using object
// is known, its owner, which saves the controller a write; and any Usage the mark
// of what its reach rests on. An owner that a backup brings back under a former uid goes.
func (v *validator) Default(ctx context.Context, req admission.Request) admission.Response {
	u, old, err := decode(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	judged := v.dropFormer(ctx, u, old)
	if old == nil {
		controllerutil.AddFinalizer(u, finalizer)
	}
	if old == nil && !judged {
		v.ownAtOnce(u)
	}
	authority, err := v.authority(ctx, req.UserInfo, u, old)
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
	return patchMetadata(req, u, annotations)
}

// ownAtOnce adds the using object to the owners of a new Usage, if it is known.
func (v *validator) ownAtOnce(u usage) {
	source, ok := v.usingObject(u)
	if !ok {
		return
	}
	if obj, presence := v.ledger.watcher.Get(source.ID); presence == relation.Present {
		own(u, obj)
	}
}

// patchMetadata answers with the finalizers, owners and annotations to set, and
// nothing else: to send the object back through our types could lose fields of a
// newer schema. It does not compare the whole either, which takes seconds where
// there are thousands of owners.
func patchMetadata(req admission.Request, u usage, annotations map[string]string) admission.Response {
	var sent struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}
	err := json.Unmarshal(req.Object.Raw, &sent)
	if err == nil && sent.Metadata == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read metadata of %s: %w", req.Kind.Kind, err))
	}
	var operations []webhook.JSONPatchOp
	set := func(field string, value any) {
		operations = append(operations, webhook.JSONPatchOp{Operation: "add", Path: "/metadata/" + field, Value: value})
	}
	if finalizers := u.GetFinalizers(); !slices.Equal(finalizers, sent.Metadata.Finalizers) {
		set("finalizers", finalizers)
	}
	same := func(a, b metav1.OwnerReference) bool { return a.UID == b.UID }
	if owners := u.GetOwnerReferences(); !slices.EqualFunc(owners, sent.Metadata.OwnerReferences, same) {
		set("ownerReferences", owners)
	}
	if !maps.Equal(annotations, sent.Metadata.Annotations) {
		set("annotations", annotations)
	}
	return admission.Patched("", operations...)
}

// Handle implements admission.Handler: it refuses what can never work, what goes
// in a circle, and what the author may not do.
func (v *validator) Handle(ctx context.Context, req admission.Request) admission.Response {
	if v.operators.Has(req.UserInfo.Username) {
		return admission.Allowed("")
	}
	u, old, err := decode(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.SubResource == "status" {
		return v.status(ctx, req.UserInfo, u, old)
	}
	if err := v.genuine(ctx, req.UserInfo, u, old); err != nil {
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, err.Error())
	}
	if old != nil && unchanged(u, old) {
		return admission.Allowed("")
	}
	if old == nil && v.full(u.GetNamespace()) {
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"namespace %s has %d Usages already, which is as many as this cluster allows (--usage-max-per-namespace): "+
				"delete one, or protect several objects with one Usage", u.GetNamespace(), v.most))
	}
	if problem := problems(u, v.ledger.watcher).Worst(); problem.State == reconcile.Invalid {
		return pack.Denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, problem.Message)
	}
	allowed, err := v.mayReach(ctx, req.UserInfo, u)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if !allowed {
		return pack.Denied(http.StatusForbidden, metav1.StatusReasonForbidden, fmt.Sprintf(
			"user %q may not let this Usage refer to what it names: needed are the verb get on what spec.by names, "+
				"and delete or protect on what spec.of names, or a ReferenceGrant in its namespace", req.UserInfo.Username))
	}
	return v.inRing(ctx, u)
}

// full reports whether a namespace has as many Usages as it may have. Those created at the
// same moment may not be counted yet.
func (v *validator) full(namespace string) bool {
	return v.most > 0 && namespace != "" && v.number(namespace) >= v.most
}

// genuine refuses an authority mark that is not what the mutating handler set.
func (v *validator) genuine(ctx context.Context, user authenticationv1.UserInfo, u, old usage) error {
	have := u.GetAnnotations()[authorityAnnotation]
	if have == "" {
		return nil
	}
	want, err := v.authority(ctx, user, u, old)
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("annotation %s is set by Kinship alone", authorityAnnotation)
	}
	return nil
}

// inRing refuses a Usage whose own fields close a ring. Where that can't be told the
// Usage is taken in, with a warning: it protects either way, and who can have many
// objects use each other must not keep others from protecting theirs.
func (v *validator) inRing(ctx context.Context, u usage) admission.Response {
	controllerutil.AddFinalizer(u, finalizer)
	for _, e := range extract(u, v.ledger.watcher) {
		if e.Content != nil {
			continue
		}
		ring, err := v.ledger.Ring(ctx, e)
		if err != nil {
			return admission.Allowed("").WithWarnings(fmt.Sprintf("behind %s %s", e.Target, err))
		}
		if ring != nil {
			return pack.Denied(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, fmt.Sprintf(
				"the resources would use each other in a circle: %s", printRing(ring)))
		}
	}
	return admission.Allowed("")
}

// unchanged reports whether a Usage means what it meant before: its spec is the
// same and, where a selector goes by it, its controller.
func unchanged(u, old usage) bool {
	for _, s := range sides(u) {
		selector := s.resource.ResourceSelector
		if s.resource.ResourceRef != nil || selector == nil || selector.MatchControllerRef == nil {
			continue
		}
		if selectorOf(u, selector).Controller != selectorOf(old, selector).Controller {
			return false
		}
	}
	return equality.Semantic.DeepEqual(u.UsageSpec(), old.UsageSpec())
}

// authority returns the mark for a Usage: that of its author when the spec is
// new, else the one it had.
func (v *validator) authority(ctx context.Context, user authenticationv1.UserInfo, u, old usage) (string, error) {
	if old != nil && (v.operators.Has(user.Username) || unchanged(u, old)) {
		return old.GetAnnotations()[authorityAnnotation], nil
	}
	if !reachesOut(u) {
		return "", nil
	}
	ok, err := v.mayProtect(ctx, user, u)
	if err != nil || !ok {
		return "", err
	}
	return authorityAuthor, nil
}

// reachesOut reports whether a Usage protects something in another namespace
// than its own.
func reachesOut(u usage) bool {
	ns := namespaceOf(u, &u.UsageSpec().Of)
	return u.GetNamespace() != "" && ns != u.GetNamespace()
}

// mayReach reports whether a user may create this Usage.
func (v *validator) mayReach(ctx context.Context, user authenticationv1.UserInfo, u usage) (bool, error) {
	if by := u.UsageSpec().By; by != nil {
		ok, err := v.may(ctx, user, "get", u, by)
		if err != nil || !ok {
			return false, err
		}
	}
	ok, err := v.mayProtect(ctx, user, u)
	if err != nil || ok {
		return ok, err
	}
	return v.ledger.granted(u, v.ledger.grants), nil
}

func (v *validator) mayProtect(ctx context.Context, user authenticationv1.UserInfo, u usage) (bool, error) {
	ok, err := v.may(ctx, user, "delete", u, &u.UsageSpec().Of)
	if err != nil || ok {
		return ok, err
	}
	return v.may(ctx, user, "protect", u, &u.UsageSpec().Of)
}

// may asks for the right to do something with what one side of a Usage names:
// with one object, or with the kind in that namespace for a selector. For a kind
// that is not served yet nobody knows the resource, nor whether it will live in
// namespaces, so all of the group's everywhere are asked for.
func (v *validator) may(
	ctx context.Context, user authenticationv1.UserInfo, verb string, u usage, r *sharedv1alpha1.Resource,
) (bool, error) {
	gk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
	action := authorise.Action{Verb: verb, Group: gk.Group, Resource: "*"}
	mapping, err := v.ledger.watcher.Mapping(gk.WithVersion(""))
	if err == nil {
		action.Resource = mapping.Resource.Resource
	}
	if err == nil && mapping.Namespaced {
		action.Namespace = namespaceOf(u, r)
	}
	if r.ResourceRef != nil {
		action.Name = r.ResourceRef.Name
	}
	return v.reviewer.Allowed(ctx, user, action)
}

// target returns what a Usage protects without asking what kinds there are, as
// grants see it.
func target(u usage) relation.Ref {
	of := &u.UsageSpec().Of
	gk := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).GroupKind()
	ref := relation.Ref{ID: object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: namespaceOf(u, of)}}
	if of.ResourceRef != nil && of.ResourceRef.Name != "" {
		ref.Name = of.ResourceRef.Name
	} else {
		ref.Selector = &relation.Selector{}
	}
	return ref
}
