package usage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// overrideAnnotation, on a protected object, names the Usages ("name" or "namespace/name",
// separated by commas) that a deletion ignores. The object's UID, or overrideAll, means all
// Usages. The annotation has an effect only for a user with the verb override on the named
// Usages, or on all Usages in the cluster.
const (
	overrideAnnotation = "kinship.dev/override-usage"
	overrideAll        = "*"
	overrideVerb       = "override"
)

// override returns the Usages that still refuse a deletion. A Usage in the annotation
// kinship.dev/override-usage of the object does not refuse, if the deleting user has the verb
// override on the Usage. Controllers of Kubernetes, such as the garbage collector, never
// override: the author of the annotation may be the user for whom the controller deletes.
func (h *deletionHandler) override(
	ctx context.Context, req admission.Request, obj relation.Object, meta *metav1.PartialObjectMetadata, found holders,
) ([]relation.Edge, error) {
	if len(found.edges) == 0 || pack.IsKubernetesController(req.UserInfo.Username) {
		return found.edges, nil
	}
	if req.SubResource == "eviction" {
		var err error
		if meta, err = h.evicted(ctx, req); err != nil {
			return found.edges, client.IgnoreNotFound(err)
		}
	}
	wish := meta.Annotations[overrideAnnotation]
	if wish == "" {
		return found.edges, nil
	}
	all := wish == overrideAll || wish == string(meta.UID)
	var left []relation.Edge
	var overridden []object.ID
	for _, e := range found.edges {
		ok, err := h.mayOverride(ctx, req, e.Declarer, wish, all)
		if err != nil {
			return nil, err
		}
		if !ok {
			left = append(left, e)
			continue
		}
		// A namespace may have thousands of Usages, and an event for each would be too many.
		if !slices.Contains(overridden, e.Declarer) && len(overridden) < guard.MaxNamed {
			overridden = append(overridden, e.Declarer)
			if err := h.recordOverride(ctx, req, obj, found.get(e.Declarer)); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// mayOverride reports whether the annotation names a Usage, and the user has the verb override on the Usage or, with
// all, on all Usages.
func (h *deletionHandler) mayOverride(
	ctx context.Context, req admission.Request, u object.ID, wish string, all bool,
) (bool, error) {
	k, _ := kindOf(u.GroupKind())
	action := authorise.Action{Verb: overrideVerb, Group: k.Group, Resource: k.resource}
	if !all {
		if !namesUsage(wish, u) {
			return false, nil
		}
		action.Namespace, action.Name = u.Namespace, u.Name
	}
	return h.reviewer.Allowed(ctx, req.UserInfo, action)
}

// evicted returns the metadata of the Pod of an eviction, whose request has only the name.
func (h *deletionHandler) evicted(
	ctx context.Context, req admission.Request,
) (*metav1.PartialObjectMetadata, error) {
	pod := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	if err := h.live.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, pod); err != nil {
		return nil, fmt.Errorf("read Pod %s/%s: %w", req.Namespace, req.Name, err)
	}
	return pod, nil
}

// recordOverride records an event on a Usage that was overridden, if the API server has sent the review.
func (h *deletionHandler) recordOverride(
	ctx context.Context, req admission.Request, obj relation.Object, u usage,
) error {
	if u == nil || isDryRun(req) {
		return nil
	}
	switch h.origin.Prove(ctx, repeatOf(req, obj)) {
	case pack.Proven:
		h.events.Eventf(u, nil, "Warning", "Overridden", "Delete",
			"%s deleted %s/%s despite this Usage", req.UserInfo.Username, req.Kind.Kind, obj.ID.Name)
	case pack.Pending:
		return errAskAgain
	case pack.Unproven:
	}
	return nil
}

func namesUsage(wish string, id object.ID) bool {
	return slices.ContainsFunc(strings.Split(wish, ","), func(name string) bool {
		name = strings.TrimSpace(name)
		return name == id.Name || name == id.Namespace+"/"+id.Name
	})
}

// overrideHint returns the command with which an administrator deletes a namespace or a definition
// in spite of the Usages that protect its content. The administrator can't ask the authors of all
// these Usages.
func overrideHint(obj relation.Object, found holders) string {
	if !slices.ContainsFunc(found.edges, func(e relation.Edge) bool { return e.Content != nil }) {
		return ""
	}
	return fmt.Sprintf(" To delete it all the same, with the verb override on all Usages: %s, and delete it again.",
		OverrideCommand(obj.ID, string(obj.UID)))
}

// OverrideCommand returns the command after which a user with the verb override on all Usages may
// delete an object.
func OverrideCommand(id object.ID, uid string) string {
	id.Kind = strings.ToLower(id.Kind)
	return fmt.Sprintf("kubectl annotate %s%s %s=%s", id.Words(), namespaceFlag(id), overrideAnnotation, uid)
}

// namespaceFlag returns the flag of kubectl for the namespace of an object, or "".
func namespaceFlag(id object.ID) string {
	if id.Namespace == "" {
		return ""
	}
	return " -n " + id.Namespace
}

// refuseUnlessOverridden are validations that refuse a deletion unless the object has
// overrideAnnotation and the user has the verb override on all Usages. Each kind of Usage has a
// validation of its own, because the API server limits the CEL cost of one validation: two
// calls of the authorizer would exceed the limit.
func refuseUnlessOverridden() []admissionregistrationv1.Validation {
	meant := fmt.Sprintf("(oldObject.metadata.?annotations[?%q].orValue('') in [dyn('%s'), oldObject.metadata.uid] && "+
		"!(request.userInfo.username in ['%s']))", overrideAnnotation, overrideAll,
		strings.Join(pack.KubernetesControllers(), "', '"))
	refusal := pack.Forbid(meant, refusedByPolicy)
	refusal.MessageExpression = fmt.Sprintf("%q + %s", refusedByPolicy, overrideHintExpression())
	all := make([]admissionregistrationv1.Validation, 1, 1+len(kinds))
	all[0] = refusal
	for _, k := range kinds {
		refusal.Expression = fmt.Sprintf("!%s || authorizer.group('%s').resource('%s').check('%s').allowed()",
			meant, k.Group, k.resource, overrideVerb)
		all = append(all, refusal)
	}
	return all
}

// overrideHintExpression is overrideHint as a CEL expression, with the quotes of [object.ID.Words].
func overrideHintExpression() string {
	return fmt.Sprintf(`" To delete it all the same, with the verb override on all Usages: kubectl annotate " + `+
		`request.resource.resource + (request.resource.group == "" ? "" : "." + request.resource.group) + `+
		`(oldObject.metadata.name.matches("^[A-Za-z0-9][A-Za-z0-9._:@-]*$") ? " " + oldObject.metadata.name : `+
		`"/'" + oldObject.metadata.name.replace("'", "'\\''") + "'") + `+
		`(oldObject.metadata.?namespace.orValue("") == "" ? "" : " -n " + oldObject.metadata.namespace) + `+
		`" %s=" + oldObject.metadata.uid + ", and delete it again."`, overrideAnnotation)
}
