package pack

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GuardStatuses returns a policy and its binding, called name, by which the API server lets
// only the operator write the statuses of some resources of groups; "*" is all resources. A tenant
// who could write status.id could make the operator delete another tenant's resource.
//
// A user with the verb override on the resource in the whole cluster may write statuses too,
// for repairs and for restoring a backup. A right in one namespace is not enough.
func GuardStatuses(name string, groups, resources []string, in Installation) []client.Object {
	statuses := make([]string, 0, len(resources))
	for _, r := range resources {
		statuses = append(statuses, r+"/status")
	}
	return guardUpdates(name, groups, statuses, in.NotTheOperator(), Forbid(mayOverride,
		"only Kinship may write this status: it says what the operator has seen. Somebody with the verb "+
			"override on the resource, in the whole cluster, may correct it"))
}

// mayOverride is the condition in CEL that the user has the verb override in the whole cluster.
const mayOverride = "authorizer.group(request.resource.group).resource(request.resource.resource)" +
	".check('override').allowed()"

// GuardIntents returns a policy and its binding, called name, by which the API server lets only the
// operator record in an annotation what it is about to create for an object of some groups. A tenant who
// could write such an intent could make the operator take over, and delete, a resource of somebody else.
// An intent that has the uid of another object means nothing, and may be restored from a backup.
// Everybody may remove the annotation.
func GuardIntents(name string, groups []string, annotation string, in Installation) []client.Object {
	value := func(object string) string {
		return fmt.Sprintf("%s.metadata.?annotations[?'%s'].orValue('')", object, annotation)
	}
	conditions := append(in.NotTheOperator(), admissionregistrationv1.MatchCondition{
		Name: "writes-an-intent", Expression: value("object") + " != " + value("oldObject"),
	})
	// A backslash may begin a uid in other letters, as JSON allows.
	own := fmt.Sprintf("(!%[1]s.contains(object.metadata.uid) && !%[1]s.contains('\\\\')) || %[2]s",
		value("object"), mayOverride)
	return guardUpdates(name, groups, []string{"*"}, conditions, Forbid(own,
		"only Kinship may write the annotation "+annotation+": it says what the operator is about to create. "+
			"Somebody with the verb override on the resource, in the whole cluster, may correct it"))
}

// guardUpdates returns a policy and its binding for updates of resources of groups.
func guardUpdates(
	name string, groups, resources []string, conditions []admissionregistrationv1.MatchCondition,
	validation admissionregistrationv1.Validation,
) []client.Object {
	updates := Writes(groups, resources...)
	updates.Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
	return ValidatingPolicy(name, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: Match(updates),
		MatchConditions:  conditions,
		Validations:      []admissionregistrationv1.Validation{validation},
	})
}
