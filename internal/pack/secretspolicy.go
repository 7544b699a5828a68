package pack

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeepSecrets returns a policy and its binding, called name, by which the API server refuses
// some of the operator's accounts every change of a Secret's data or type. Packs put labels and
// finalizers on Secrets, and RBAC can't limit a patch to metadata. The API server merges
// stringData into data before a policy sees the Secret.
func KeepSecrets(name string, accounts Operators) []client.Object {
	return ValidatingPolicy(name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: Match(Writes([]string{""}, "secrets")),
		MatchConditions:  []admissionregistrationv1.MatchCondition{{Name: "the-operator", Expression: accounts.asks()}},
		Validations: []admissionregistrationv1.Validation{Forbid(
			"oldObject != null && object.?data == oldObject.?data && "+
				"object.?stringData == oldObject.?stringData && "+
				"object.?type == oldObject.?type && object.?immutable == oldObject.?immutable",
			"Kinship marks Secrets and changes nothing else of them",
		)},
	})
}

// MayUseSecret returns the validation of a field with the name of a Secret: the author of an object must
// have the verb get or use on the Secret. The expression checks the right by name only, so that the answer
// for a missing Secret is the same.
func MayUseSecret(field string) admissionregistrationv1.Validation {
	name := Optional("object", field) + ".orValue('')"
	// The message is for a name with line breaks, which a MessageExpression may not contain.
	const help = "you may neither get nor use it: ask an administrator to grant you the verb get or use on it"
	validation := Forbid(mayUse(name), field+" names a Secret; "+help)
	validation.MessageExpression = fmt.Sprintf(
		"'%s names Secret ' + %s + ' in namespace ' + object.metadata.namespace + '; %s'", field, name, help)
	return validation
}

// MayUseSecrets is MayUseSecret for a CEL expression of a list with the names of Secrets. The message has all names,
// because a MessageExpression can't ask for rights.
func MayUseSecrets(names string) admissionregistrationv1.Validation {
	const help = "you may neither get nor use one of these: ask an administrator to grant you the verb get or use"
	validation := Forbid(fmt.Sprintf("%s.all(name, %s)", names, mayUse("name")), "the spec names Secrets; "+help)
	validation.MessageExpression = fmt.Sprintf("'the spec names in namespace ' + object.metadata.namespace + "+
		"' Secret ' + %s.filter(name, name != '').join(' and ') + '; %s'", names, help)
	return validation
}

// mayUse returns the CEL expression that the author of an object may use the Secret with a name, or that the name is
// empty.
func mayUse(name string) string {
	may := func(verb string) string {
		return fmt.Sprintf("authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(%s)"+
			".check('%s').allowed()", name, verb)
	}
	return fmt.Sprintf("%s == '' || %s || %s", name, may("get"), may("use"))
}
