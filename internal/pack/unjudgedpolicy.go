package pack

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// KeepUnjudged returns a policy and its binding, called name, by which the API server keeps
// everybody but the operator from taking the mark off an object that was written while no
// guard judged it. Whoever has the verb override on the resource in the whole cluster may take
// the mark off.
func KeepUnjudged(name string, resources []schema.GroupResource, in Installation) []client.Object {
	if len(resources) == 0 {
		return nil
	}
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	match := &admissionregistrationv1.MatchResources{}
	for _, r := range resources {
		rules := match.ResourceRules
		if n := len(rules); n > 0 && slices.Contains(rules[n-1].APIGroups, r.Group) {
			rules[n-1].Resources = append(rules[n-1].Resources, r.Resource)
			continue
		}
		match.ResourceRules = append(match.ResourceRules, admissionregistrationv1.NamedRuleWithOperations{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{r.Group}, APIVersions: []string{"*"}, Resources: []string{r.Resource},
				},
			},
		})
	}
	mark := fmt.Sprintf(".metadata.?annotations[?%q]", reconcile.UnjudgedAnnotation)
	return ValidatingPolicy(name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail, MatchConstraints: match,
		MatchConditions: []admissionregistrationv1.MatchCondition{
			{Name: "not-the-operator", Expression: in.Operators.DoNotAsk()},
			{
				Name:       "takes-the-mark-off",
				Expression: "oldObject" + mark + ".hasValue() && object" + mark + " != oldObject" + mark,
			},
		},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "authorizer.group(request.resource.group).resource(request.resource.resource)" +
				".check('override').allowed()",
			Message: "annotation " + reconcile.UnjudgedAnnotation + " says that nobody judged what was written: only somebody " +
				"with the verb override on the resource, in the whole cluster, may remove the annotation",
			Reason: &forbidden,
		}},
	})
}

// Resource returns what a definition of that name defines.
func Resource(definition string) schema.GroupResource {
	resource, group, _ := strings.Cut(definition, ".")
	return schema.GroupResource{Group: group, Resource: resource}
}
