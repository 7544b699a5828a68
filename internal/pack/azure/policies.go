package azure

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/external"
)

// Names of the pack's policies.
const (
	secretsPolicy = "kinship-azure-secrets"
	valuesPolicy  = "kinship-azure-values"
	statusPolicy  = "kinship-azure-status"
	intentPolicy  = "kinship-azure-intents"
)

// objects returns the ValidatingAdmissionPolicies for the kinds of the catalogue, enabled or not.
func objects(options Options, in pack.Installation) []client.Object {
	groups := groups(options)
	return slices.Concat(askForSecrets(groups), askForValues(options.kinds()),
		pack.GuardStatuses(statusPolicy, groups, []string{"*"}, in),
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

// askForValues returns a ValidatingAdmissionPolicy with which the API server checks whether the author of an object may
// use the Secrets in sensitive fields, such as spec.administratorLoginPassword. Without the policy, a user without
// rights to a Secret could make the operator send the value of the Secret to a cloud of the user.
func askForValues(all *catalogue.Catalogue) []client.Object {
	rules := map[string]sets.Set[string]{}  // the plurals by group
	fields := map[string]sets.Set[string]{} // the kinds by field
	for _, k := range all.Kinds() {
		for _, field := range k.SecretFields {
			if rules[k.Group] == nil {
				rules[k.Group] = sets.New[string]()
			}
			if fields[field] == nil {
				fields[field] = sets.New[string]()
			}
			rules[k.Group].Insert(k.Plural)
			fields[field].Insert(k.Kind)
		}
	}
	if len(fields) == 0 {
		return nil
	}
	var matched []admissionregistrationv1.RuleWithOperations
	for _, group := range slices.Sorted(maps.Keys(rules)) {
		matched = append(matched, pack.Writes([]string{group}, sets.List(rules[group])...))
	}
	names := make([]string, 0, len(fields))
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		names = append(names, fmt.Sprintf("object.kind in ['%s'] ? %s : ''", strings.Join(sets.List(fields[field]), "', '"),
			namesIn("object", strings.Split(field, "."))))
	}
	return pack.ValidatingPolicy(valuesPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(matched...),
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "changes-what-the-values-do", Expression: "oldObject == null || object.?spec != oldObject.?spec",
		}},
		Variables: []admissionregistrationv1.Variable{
			{Name: "names", Expression: "[" + strings.Join(names, ",\n") + "].join('\\n').split('\\n')"},
		},
		Validations: []admissionregistrationv1.Validation{pack.MayUseSecrets("variables.names")},
	})
}

// namesIn returns the CEL expression of a text with the names of the Secrets in a field, one a line. within is the
// expression of the value in which the field is.
func namesIn(within string, field []string) string {
	for i, segment := range field {
		inner := "x" + strconv.Itoa(len(field)-i)
		name, isList := strings.CutSuffix(segment, "[*]")
		isMap := i+1 < len(field) && field[i+1] == "*"
		within += "[?'" + name + "']"
		switch {
		case isList:
			return fmt.Sprintf("%s.orValue([]).map(%s, %s).join('\\n')", within, inner, namesIn(inner, field[i+1:]))
		case isMap:
			return fmt.Sprintf("%[1]s.orValue({}).map(%[2]s, %[3]s).join('\\n')", within, inner,
				namesIn(within+".orValue({})["+inner+"]", field[i+2:]))
		}
	}
	return within + "[?'name'].orValue('')"
}
