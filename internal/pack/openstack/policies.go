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

// secretsPolicy is the name of the policy of askForSecrets.
const secretsPolicy = "kinship-openstack-secrets"

// composedPolicy is the name of the policy of askForComposed.
const composedPolicy = "kinship-openstack-composed"

// statusPolicy is the name of the policy that allows only the operator to write statuses.
const statusPolicy = "kinship-openstack-status"

// intentPolicy is the name of the policy that allows only the operator to record what is created.
const intentPolicy = "kinship-openstack-intents"

// askForSecrets returns a ValidatingAdmissionPolicy with which the API server checks whether
// the author of an object may use the Secrets that the object names. Without this policy, a
// user without the right to read a Secret could name the Secret and a cloud of his own in an
// object, and the operator would send the content of the Secret to this cloud.
//
// A user who changes one reference of an object needs the right for all Secrets of the object:
// another cloudCredentialsRef would send the contents of the other Secrets to another cloud.
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
		// A write that changes no reference, such as a write of finalizers, needs no check.
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "changes-a-reference-to-a-secret", Expression: changed(fields),
		}},
	}
	for _, field := range fields {
		spec.Validations = append(spec.Validations, mayUse(field))
	}
	return pack.ValidatingPolicy(secretsPolicy, spec)
}

// composed are the kinds that the operator creates for an object of another kind, if a field of
// that object is set.
var composed = []struct{ kind, field, creates string }{
	{"Subnet", "spec.resource.routerRef", "RouterInterface"},
}

// askForComposed returns a ValidatingAdmissionPolicy with which the API server checks whether
// the author of an object may create the objects that the operator creates for it.
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
			Message: fmt.Sprintf("the author who sets %s of a %s must be allowed to create %s in its namespace",
				c.field, c.kind, resource),
			Reason: &forbidden,
		})
	}
	spec.MatchConstraints = written(resources)
	return pack.ValidatingPolicy(composedPolicy, spec)
}

// written selects the requests that write the specs of resources.
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

// changed returns the CEL expression for "one of the references has changed". Every field of a
// reference counts: one Secret may have the credentials of several clouds (cloudName).
func changed(fields []string) string {
	some := make([]string, 1, 1+len(fields))
	some[0] = "oldObject == null"
	for _, field := range fields {
		reference := field
		if !strings.HasSuffix(field, "Ref") { // Such as cloudCredentialsRef.secretName.
			reference = field[:strings.LastIndex(field, ".")]
		}
		some = append(some, optional("object", reference)+" != "+optional("oldObject", reference))
	}
	return strings.Join(some, " || ")
}

// mayUse returns the validation of one field with the name of a Secret. The expression checks
// the right by name only, so that the answer for a missing Secret is the same.
func mayUse(field string) admissionregistrationv1.Validation {
	forbidden, name := metav1.StatusReasonForbidden, optional("object", field)+".orValue('')"
	may := func(verb string) string {
		return fmt.Sprintf("authorizer.group('').resource('secrets').namespace(object.metadata.namespace).name(%s)"+
			".check('%s').allowed()", name, verb)
	}
	const help = "you may neither get nor use it: ask an administrator to grant you the verb get or use on it"
	return admissionregistrationv1.Validation{
		Expression: fmt.Sprintf("%s == '' || %s || %s", name, may("get"), may("use")),
		MessageExpression: fmt.Sprintf("'%s names Secret ' + %s + ' in namespace ' + object.metadata.namespace + '; %s'",
			field, name, help),
		Message: field + " names a Secret; " + help, // For a name with line breaks, which MessageExpression may not contain.
		Reason:  &forbidden,
	}
}

// optional returns the CEL expression for an optional field.
func optional(object, field string) string {
	return object + ".?" + strings.ReplaceAll(field, ".", ".?")
}
