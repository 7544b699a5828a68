package azure

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Names of the pack's policies.
const (
	secretsPolicy = "kinship-azure-secrets"
	statusPolicy  = "kinship-azure-status"
	intentPolicy  = "kinship-azure-intents"
)

// objects returns the ValidatingAdmissionPolicies for the kinds of the catalogue, enabled or not.
func objects(options Options, in pack.Installation) []client.Object {
	groups := groups(options)
	return slices.Concat(askForSecrets(groups), pack.GuardStatuses(statusPolicy, groups, []string{"*"}, in),
		pack.GuardIntents(intentPolicy, groups, external.IntentAnnotation(Prefix), in))
}

// groups returns the API groups of the catalogue.
func groups(options Options) []string {
	all := sets.New[string]()
	for _, k := range options.kinds().Kinds() {
		all.Insert(k.Group)
	}
	return sets.List(all)
}

// askForSecrets returns a ValidatingAdmissionPolicy with which the API server checks whether the
// author of an object may use the Secret in spec.credentialsRef. Without the policy, a user without
// rights to a Secret could make the operator act with the credentials in the Secret.
func askForSecrets(groups []string) []client.Object {
	return pack.ValidatingPolicy(secretsPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(pack.Writes(groups, "*")),
		// A write without a change of the spec, such as a write of finalizers, needs no check. A
		// write with a change needs a check: the operator would apply the new spec with the
		// credentials of the Secret.
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "changes-what-the-credentials-do", Expression: "oldObject == null || object.?spec != oldObject.?spec",
		}},
		Validations: []admissionregistrationv1.Validation{pack.MayUseSecret("spec.credentialsRef.secretName")},
	})
}
