package openstack

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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

	spec := admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(pack.Writes([]string{kit.Group}, resources...)),
		// A write that changes no reference, such as a write of finalizers, needs no check.
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "changes-a-reference-to-a-secret", Expression: changed(fields),
		}},
	}
	for _, field := range fields {
		spec.Validations = append(spec.Validations, pack.MayUseSecret(field))
	}
	return pack.ValidatingPolicy(secretsPolicy, spec)
}

// askForComposed returns a ValidatingAdmissionPolicy with which the API server checks whether the author of a
// Subnet with spec.resource.routerRef may create the RouterInterface that the operator creates for the Subnet.
func askForComposed() []client.Object {
	const routerRef = "spec.resource.routerRef"
	field := pack.Optional("object", routerRef)
	return pack.ValidatingPolicy(composedPolicy, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(pack.Writes([]string{kit.Group}, "subnets")),
		Validations: []admissionregistrationv1.Validation{pack.Forbid(
			fmt.Sprintf("request.kind.kind != 'Subnet' || !%[1]s.hasValue() || (oldObject != null && %[1]s == %[2]s) || "+
				"authorizer.group('%[3]s').resource('routerinterfaces').namespace(object.metadata.namespace)"+
				".check('create').allowed()", field, pack.Optional("oldObject", routerRef), kit.Group),
			"the author who sets spec.resource.routerRef of a Subnet must be allowed to create routerinterfaces "+
				"in its namespace",
		)},
	})
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
		some = append(some, pack.Optional("object", reference)+" != "+pack.Optional("oldObject", reference))
	}
	return strings.Join(some, " || ")
}
