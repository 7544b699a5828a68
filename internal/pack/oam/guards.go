package oam

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

// statusPolicy keeps users from writing the statuses of the pack, except the status of an
// ApplicationConfiguration: there, other controllers write status.status and
// status.workloads[*].status.
const statusPolicy = "kinship-oam-statuses"

// authored are the resources whose authors the webhook authorsPath records: the pack acts for these
// authors.
var authored = []string{applications, components, workloads, scalers, healthScopes}

// objects returns the webhook configurations and the policy of the pack. With --enforcement=policy
// the pack has no webhooks, so the operator knows no authors.
func objects(in pack.Installation) []client.Object {
	resources := []string{components, workloads, scalers, healthScopes}
	statuses := pack.GuardStatuses(statusPolicy, []string{group}, resources, in)
	if in.Enforcement == pack.ByPolicy {
		return statuses
	}
	return append(statuses, recordAuthors(in), validateOwn(in))
}

func recordAuthors(in pack.Installation) client.Object {
	return pack.MutatingWebhooks(configuration,
		in.MutatingWebhook("authors.oam.kinship.dev", authorsPath, pack.Writes([]string{group}, authored...)))
}

func validateOwn(in pack.Installation) client.Object {
	revisions := in.ValidatingWebhook("revisions.oam.kinship.dev", validatePath,
		pack.Writes([]string{revisionKind.Group}, "controllerrevisions"))
	revisions.ObjectSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: oamv1alpha2.LabelComponent, Operator: metav1.LabelSelectorOpExists,
	}}}
	own := in.ValidatingWebhook(validateName, validatePath, pack.Writes([]string{group}, applications, components))
	return pack.ValidatingWebhooks(configuration, own, revisions)
}

// probe sends a dry-run creation of an ApplicationConfiguration that only the webhook validateName
// refuses.
func probe(ctx context.Context, c client.Client, namespace string) error {
	ac := &oamv1alpha2.ApplicationConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kinship-probe-"},
		Spec: oamv1alpha2.ApplicationConfigurationSpec{Components: []oamv1alpha2.ApplicationConfigurationComponent{{
			ComponentName: "one", RevisionName: "two",
		}}},
	}
	return pack.Probe(ctx, c, ac, validateName, "ApplicationConfigurations")
}

// forgetAuthors removes the authors of objects that were written while a guard was missing
// (authorise.Forget).
func forgetAuthors(ctx context.Context, live client.Client, since string) error {
	return authorise.Forget(ctx, live, fieldOwner, since,
		&oamv1alpha2.ApplicationConfigurationList{}, &oamv1alpha2.ComponentList{}, &oamv1alpha2.ContainerizedWorkloadList{},
		&oamv1alpha2.ManualScalerTraitList{}, &oamv1alpha2.HealthScopeList{}, &appsv1.ControllerRevisionList{})
}
