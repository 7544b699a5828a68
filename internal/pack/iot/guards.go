package iot

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// guardedWrites returns the writes of IotConnectors and IotConnectorReleases that need more
// rights than the right to write the object itself.
func guardedWrites() admissionregistrationv1.RuleWithOperations {
	return pack.Writes([]string{connectorKind.Group}, connectors, releases, connectors+"/status", releases+"/status")
}

// validateOwn returns the ValidatingWebhookConfiguration. The API server does not call the
// webhook for status writes of the operator, which are most of the writes. The API server does
// call the webhook when the operator changes spec: an IotConnectorRelease may ask for a
// spec.version that does not exist.
func validateOwn(in pack.Installation) client.Object {
	hook := in.ValidatingWebhook(validateName, validatePath, guardedWrites())
	hook.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "no-spec-of-the-operator", Expression: in.Operators.DoNotAsk() +
			" || oldObject == null || object.spec != oldObject.spec",
	}}
	return pack.ValidatingWebhooks(configuration, hook)
}

// defaultOwn returns the MutatingWebhookConfiguration. The webhook adds the finalizer to each new
// IotConnector, which saves a write.
func defaultOwn(in pack.Installation) client.Object {
	creations := pack.Writes([]string{connectorKind.Group}, connectors)
	creations.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	return pack.MutatingWebhooks(configuration, in.MutatingWebhook("default.iot.kinship.dev", defaultPath, creations))
}

// policies returns a ValidatingAdmissionPolicy that checks the author's rights like the webhooks
// do, without a call to the operator. An invalid spec is not refused: the controller sets
// condition Stalled instead.
func policies(in pack.Installation, options Options) []client.Object {
	const changed = "oldObject == null || object.spec != oldObject.spec"
	may := func(verb, group, resource string) string {
		return fmt.Sprintf("authorizer.group('%s').resource('%s').namespace(object.metadata.namespace).check('%s').allowed()",
			group, resource, verb)
	}
	mayIdentify := make([]string, 0, 2)
	for _, r := range options.Identity.resources() {
		mayIdentify = append(mayIdentify, may("create", r.Group, r.Resource))
	}
	const identified = "oldObject == null || object.spec.?serviceIdentity != oldObject.spec.?serviceIdentity"
	return pack.ValidatingPolicy(configuration, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: pack.Match(guardedWrites()),
		MatchConditions:  in.NotTheOperator(),
		Variables: []admissionregistrationv1.Variable{{
			Name: "status", Expression: "has(request.subResource) && request.subResource == 'status'",
		}},
		Validations: []admissionregistrationv1.Validation{
			pack.Forbid("!variables.status", statusRefused),
			pack.Forbid(fmt.Sprintf("variables.status || !(%s) || %s",
				changed, may("create", "apps", "deployments")), mayNotDeploy),
			pack.Forbid(fmt.Sprintf("variables.status || request.kind.kind != '%s' || !(%s) || (%s)",
				connectorKind.Kind, identified, strings.Join(mayIdentify, " && ")), mayNotIdentify),
			pack.Forbid(fmt.Sprintf("variables.status || request.kind.kind != '%s' || !(%s) || %s",
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
