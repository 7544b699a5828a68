package openstack

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// secretsPolicy has its name from what it asks about.
const secretsPolicy = "kinship-openstack-secrets"

// composedPolicy asks for the rights to create what objects are composed of.
const composedPolicy = "kinship-openstack-composed"

// statusPolicy lets only the operator write statuses.
const statusPolicy = "kinship-openstack-status"

// askForSecrets returns a policy by which the API server asks whether the author of an
// object may use the Secrets that it names. Else he who may not read a Secret would
// name it, and a cloud of his own, and have the operator send him what is in it.
//
// Whoever changes one of an object's references to Secrets answers for all of them: to
// name another cloud is to have the others' contents sent there.
func askForSecrets(relations []relation.Relation) []client.Object {
	var resources, fields []string
	for _, r := range relations {
		if r.Target != kit.SecretKind.GroupKind() {
			continue
		}
		if strings.Contains(r.Field, "[]") {
			panic("openstack: no policy asks about the Secrets that a list names: " + r.Name)
		}
		resources, fields = append(resources, plural(r.Declarer.Kind)), append(fields, r.Field)
	}
	slices.Sort(resources)
	slices.Sort(fields)
	resources, fields = slices.Compact(resources), slices.Compact(fields)

	fail := admissionregistrationv1.Fail
	spec := admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail, MatchConstraints: written(resources),
		// What is written without a change here, such as finalizers, costs no question.
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "changes-a-reference-to-a-secret", Expression: changed(fields),
		}},
	}
	for _, field := range fields {
		spec.Validations = append(spec.Validations, mayUse(field))
	}
	return pack.ValidatingPolicy(secretsPolicy, spec)
}

// composed are the kinds that the operator creates for an object of another kind, if a field
// of that object is set.
var composed = []struct{ kind, field, creates string }{
	{"Subnet", "spec.resource.routerRef", "RouterInterface"},
}

// askForComposed returns a policy by which the API server asks whether the author of an
// object may create the objects that the operator creates for it.
func askForComposed() []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	spec := admissionregistrationv1.ValidatingAdmissionPolicySpec{FailurePolicy: &fail}
	resources := make([]string, 0, len(composed))
	for _, c := range composed {
		resource := plural(c.creates)
		resources = append(resources, plural(c.kind))
		spec.Validations = append(spec.Validations, admissionregistrationv1.Validation{
			Expression: fmt.Sprintf("request.kind.kind != '%s' || !%s.hasValue() || (oldObject != null && %s == %s) || "+
				"authorizer.group('%s').resource('%s').namespace(object.metadata.namespace).check('create').allowed()",
				c.kind, optional("object", c.field), optional("object", c.field), optional("oldObject", c.field),
				kit.Group, resource),
			Message: fmt.Sprintf("whoever sets %s of a %s must be allowed to create %s in its namespace",
				c.field, c.kind, resource),
			Reason: &forbidden,
		})
	}
	spec.MatchConstraints = written(resources)
	return pack.ValidatingPolicy(composedPolicy, spec)
}

// written selects requests that write the specs of resources.
func written(resources []string) *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{
					admissionregistrationv1.Create, admissionregistrationv1.Update,
				},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{kit.Group}, APIVersions: []string{"*"}, Resources: resources,
				},
			},
		}},
	}
}

// changed is the CEL expression for "one of the references is another one". All of a
// reference counts: its Secret may have the credentials of several clouds.
func changed(fields []string) string {
	some := make([]string, 1, 1+len(fields))
	some[0] = "oldObject == null"
	for _, field := range fields {
		reference := field
		if !strings.HasSuffix(field, "Ref") { // As in cloudCredentialsRef.secretName.
			reference = field[:strings.LastIndex(field, ".")]
		}
		some = append(some, optional("object", reference)+" != "+optional("oldObject", reference))
	}
	return strings.Join(some, " || ")
}

// mayUse refuses the name of a Secret to who may not use it. It asks about the name
// alone, so that a Secret that does not exist is refused with the same words.
func mayUse(field string) admissionregistrationv1.Validation {
	forbidden, name := metav1.StatusReasonForbidden, optional("object", field)+".orValue('')"
	may := func(verb string) string {
		return fmt.Sprintf("authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(%s)"+
			".check('%s').allowed()", name, verb)
	}
	const help = "you may neither get nor use it: have somebody grant you the verb get or use on it"
	return admissionregistrationv1.Validation{
		Expression: fmt.Sprintf("%s == '' || %s || %s", name, may("get"), may("use")),
		MessageExpression: fmt.Sprintf("'%s names Secret ' + %s + ' in namespace ' + object.metadata.namespace + '; %s'",
			field, name, help),
		Message: field + " names a Secret; " + help, // Where a name is none, for its line breaks.
		Reason:  &forbidden,
	}
}

// optional is the CEL expression for a field that may not be there.
func optional(object, field string) string {
	return object + ".?" + strings.ReplaceAll(field, ".", ".?")
}
