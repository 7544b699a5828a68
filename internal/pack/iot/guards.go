package iot

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

// objects returns the webhook configurations or, with --enforcement=policy, the
// ValidatingAdmissionPolicy with its binding.
func objects(in pack.Installation, options Options) []client.Object {
	if in.Enforcement == pack.ByPolicy {
		return policies(in, options)
	}
	return []client.Object{validateOwn(in), defaultOwn(in)}
}

func rule(
	resources []string, operations ...admissionregistrationv1.OperationType,
) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{iotv1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: resources,
		},
	}
}

// guardedWrites returns the writes of IotConnectors and IotConnectorReleases that need more
// rights than the right to write the object itself.
func guardedWrites() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{rule(
		[]string{connectors, releases, connectors + "/status", releases + "/status"},
		admissionregistrationv1.Create, admissionregistrationv1.Update,
	)}
}

// validateOwn returns the ValidatingWebhookConfiguration. The API server does not call the
// webhook for status writes of the operator, which are most of the writes. The API server does
// call the webhook when the operator changes spec: an IotConnectorRelease may ask for a
// spec.version that does not exist.
func validateOwn(in pack.Installation) client.Object {
	hook := in.ValidatingWebhook(validateName, validatePath, guardedWrites()...)
	hook.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "no-spec-of-the-operator", Expression: in.Operators.DoNotAsk() +
			" || oldObject == null || object.spec != oldObject.spec",
	}}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{hook},
	}
}

// defaultOwn returns the MutatingWebhookConfiguration. The webhook adds the finalizer to each new
// IotConnector, which saves a write.
func defaultOwn(in pack.Installation) client.Object {
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{in.MutatingWebhook("default.iot.kinship.dev", defaultPath,
			rule([]string{connectors}, admissionregistrationv1.Create))},
	}
}

// policies returns a ValidatingAdmissionPolicy that checks the author's rights like the webhooks
// do, without a call to the operator. An invalid spec is not refused: the controller sets
// condition Stalled instead.
func policies(in pack.Installation, options Options) []client.Object {
	fail, forbidden := admissionregistrationv1.Fail, metav1.StatusReasonForbidden
	resources := &admissionregistrationv1.MatchResources{}
	for _, r := range guardedWrites() {
		resources.ResourceRules = append(resources.ResourceRules,
			admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r})
	}
	const changed = "oldObject == null || object.spec != oldObject.spec"
	may := func(verb, group, resource string) string {
		return fmt.Sprintf("authorizer.group('%s').resource('%s').namespace(object.metadata.namespace).check('%s').allowed()",
			group, resource, verb)
	}
	validation := func(expression, message string) admissionregistrationv1.Validation {
		return admissionregistrationv1.Validation{Expression: expression, Message: message, Reason: &forbidden}
	}
	mayIdentify := make([]string, 0, 2)
	for _, r := range options.Identity.resources() {
		mayIdentify = append(mayIdentify, may("create", r.Group, r.Resource))
	}
	const identified = "oldObject == null || object.spec.?serviceIdentity != oldObject.spec.?serviceIdentity"
	return pack.ValidatingPolicy(configuration, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		FailurePolicy: &fail, MatchConstraints: resources,
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "not-the-operator", Expression: in.Operators.DoNotAsk(),
		}},
		Variables: []admissionregistrationv1.Variable{{
			Name: "status", Expression: "has(request.subResource) && request.subResource == 'status'",
		}},
		Validations: []admissionregistrationv1.Validation{
			validation("!variables.status", statusRefused),
			validation(fmt.Sprintf("variables.status || !(%s) || %s",
				changed, may("create", "apps", "deployments")), mayNotDeploy),
			validation(fmt.Sprintf("variables.status || request.kind.kind != '%s' || !(%s) || (%s)",
				connectorKind.Kind, identified, strings.Join(mayIdentify, " && ")), mayNotIdentify),
			validation(fmt.Sprintf("variables.status || request.kind.kind != '%s' || !(%s) || %s",
				releaseKind.Kind, changed, may("update", connectorKind.Group, connectors)), mayNotUpdate),
			{
				Expression: fmt.Sprintf("variables.status || request.kind.kind != '%s' || (%s)",
					connectorKind.Kind, readable()), Message: "spec has resources with a quantity that can't be read",
			},
		},
	})
}

// readable returns a CEL expression that refuses an IotConnector with a quantity that Go can't
// decode, such as cpu: 1e100. One such IotConnector would stop the informer for every
// IotConnector. The CRD schema can't contain the expression, because the number of quantities
// has no upper bound.
func readable() string {
	const form = `^[+-]?[0-9.]{1,32}([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	list := func(of, field string) string {
		return fmt.Sprintf("(!has(%[1]s.resources.%[2]s) || %[1]s.resources.%[2]s.all(k, "+
			"type(%[1]s.resources.%[2]s[k]) == int || %[1]s.resources.%[2]s[k].matches(r'%[3]s')))", of, field, form)
	}
	both := func(of string) string {
		return fmt.Sprintf("(!has(%[1]s.resources) || %[2]s && %[3]s)", of, list(of, "limits"), list(of, "requests"))
	}
	return fmt.Sprintf("(!has(object.spec.containers) || object.spec.containers.all(c, %[1]s)) && "+
		"(!has(object.spec.deployments) || object.spec.deployments.all(d, %[2]s && d.containers.all(c, %[1]s)))",
		both("c"), both("d"))
}
