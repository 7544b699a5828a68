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

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// overrideAnnotation, on a protected object, names the Usages ("name" or
// "namespace/name", separated by commas) that a deletion is to ignore. The object's own
// uid, or overrideAll, stands for all Usages. It is a wish, not a right: it counts only
// for a user with the verb override, on the named Usages, or on all in the cluster.
const (
	overrideAnnotation = "kinship.dev/override-usage"
	overrideAll        = "*"
	overrideVerb       = "override"
)

// override returns the Usages that still refuse a deletion. Usages named by the annotation
// kinship.dev/override-usage of the object do not refuse, if the deleting user has the verb
// override on Usages. Controllers of Kubernetes, such as the garbage collector, never override:
// the author of the annotation may be the user for whom the controller deletes.
func (h *refuser) override(
	ctx context.Context, req admission.Request, meta *metav1.PartialObjectMetadata, found holders,
) ([]relation.Edge, error) {
	if len(found.edges) == 0 || system(req.UserInfo.Username) {
		return found.edges, nil
	}
	if req.SubResource == "eviction" { // Such a request does not show the Pod.
		meta = &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
		if err := h.live.Get(ctx, client.ObjectKey{Namespace: req.Namespace, Name: req.Name}, meta); err != nil {
			return found.edges, client.IgnoreNotFound(fmt.Errorf("read Pod %s/%s: %w", req.Namespace, req.Name, err))
		}
	}
	wish := meta.Annotations[overrideAnnotation]
	if wish == "" {
		return found.edges, nil
	}
	all := wish == overrideAll || wish == string(meta.UID)
	var left []relation.Edge
	var told []object.ID
	for _, e := range found.edges {
		k, _ := kindOf(e.Declarer.GroupKind())
		action := authorise.Action{Verb: overrideVerb, Group: k.Group, Resource: k.resource}
		if !all {
			action.Namespace, action.Name = e.Declarer.Namespace, e.Declarer.Name
		}
		ok := all || named(wish, e.Declarer)
		if ok {
			var err error
			if ok, err = h.reviewer.Allowed(ctx, req.UserInfo, action); err != nil {
				return nil, err
			}
		}
		if !ok {
			left = append(left, e)
			continue
		}
		// A namespace may hold thousands, of which each would get an event.
		if !slices.Contains(told, e.Declarer) && len(told) < guard.MaxNamed {
			told = append(told, e.Declarer)
			h.overrode(req, meta, found.get(e.Declarer))
		}
	}
	return left, nil
}

// overrode tells of a Usage that it was overridden.
func (h *refuser) overrode(req admission.Request, meta *metav1.PartialObjectMetadata, u usage) {
	if u == nil || dryRun(req) {
		return
	}
	h.events.Eventf(u, nil, "Warning", "Overridden", "Delete",
		"%s deleted %s/%s despite this Usage", req.UserInfo.Username, req.Kind.Kind, meta.Name)
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

// wayOn returns the command with which an administrator deletes a namespace or a definition
// in spite of the Usages that protect its content. The administrator can't ask the authors of
// all these Usages.
func wayOn(obj relation.Object, found holders) string {
	if !slices.ContainsFunc(found.edges, func(e relation.Edge) bool { return e.Content != nil }) {
		return ""
	}
	return fmt.Sprintf(" To delete it all the same, with the verb override on all Usages: %s, and delete it again.",
		OverrideCommand(obj.ID, string(obj.UID)))
}

// OverrideCommand is the command after which somebody with the verb override on all Usages
// may delete an object.
func OverrideCommand(id object.ID, uid string) string {
	where := ""
	if id.Namespace != "" {
		where = " -n " + id.Namespace
	}
	return fmt.Sprintf("kubectl annotate %s %s%s %s=%s",
		strings.ToLower(id.GroupKind().String()), id.Name, where, overrideAnnotation, uid)
}

// refuseUnlessOverridden are validations that refuse a deletion unless who deletes has the
// verb override on all Usages, and means it. Each kind of Usage has one of its own, since
// the API server bounds what a validation may cost, of which two questions about rights are
// most.
func refuseUnlessOverridden() []admissionregistrationv1.Validation {
	forbidden := metav1.StatusReasonForbidden
	meant := fmt.Sprintf("(oldObject.metadata.?annotations[?%q].orValue('') in [dyn('%s'), oldObject.metadata.uid] && "+
		"!(request.userInfo.username in ['%s']))", overrideAnnotation, overrideAll, strings.Join(systemUsers, "', '"))
	refusal := admissionregistrationv1.Validation{
		Expression: meant, MessageExpression: fmt.Sprintf("%q + %s", refusedByPolicy, wayOnExpression()),
		Message: refusedByPolicy, Reason: &forbidden,
	}
	all := make([]admissionregistrationv1.Validation, 1, 1+len(kinds))
	all[0] = refusal
	for _, k := range kinds {
		refusal.Expression = fmt.Sprintf("!%s || authorizer.group('%s').resource('%s').check('%s').allowed()",
			meant, k.Group, k.resource, overrideVerb)
		all = append(all, refusal)
	}
	return all
}

// wayOnExpression is the CEL expression for the same as wayOn.
func wayOnExpression() string {
	return fmt.Sprintf(`" To delete it all the same, with the verb override on all Usages: kubectl annotate " + `+
		`request.resource.resource + (request.resource.group == "" ? "" : "." + request.resource.group) + " " + `+
		`oldObject.metadata.name + (oldObject.metadata.?namespace.orValue("") == "" ? "" : " -n " + `+
		`oldObject.metadata.namespace) + " %s=" + oldObject.metadata.uid + ", and delete it again."`, overrideAnnotation)
}
