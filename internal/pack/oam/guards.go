package oam

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

// statusPolicy keeps users from writing the statuses of the pack, but for those of applications: other
// controllers write status.status and status.workloads[*].status there.
const statusPolicy = "kinship-oam-statuses"

// authored are the resources whose authors are recorded: the pack acts for them.
var authored = []string{applications, components, workloads, scalers, healthScopes}

// objects returns the webhook configurations and the policy of the pack. With --enforcement=policy there
// are no webhooks, so that no authors are known.
func objects(in pack.Installation) []client.Object {
	resources := []string{components, workloads, scalers, healthScopes}
	statuses := pack.GuardStatuses(statusPolicy, []string{group}, resources, in)
	if in.Enforcement == pack.ByPolicy {
		return statuses
	}
	return append(statuses, recordAuthors(in), validateOwn(in))
}

func rule(group string, resources []string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources,
		},
	}
}

func recordAuthors(in pack.Installation) client.Object {
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(3)
	return &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "authors.oam.kinship.dev", ClientConfig: in.ClientConfig(authorsPath),
			Rules:           []admissionregistrationv1.RuleWithOperations{rule(group, authored)},
			MatchConditions: in.NotTheOperator(),
			FailurePolicy:   &fail, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}},
	}
}

func validateOwn(in pack.Installation) client.Object {
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(3)
	hook := func(name string, rule admissionregistrationv1.RuleWithOperations, of *metav1.LabelSelector,
	) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: name, ClientConfig: in.ClientConfig(validatePath), ObjectSelector: of,
			Rules: []admissionregistrationv1.RuleWithOperations{rule}, MatchConditions: in.NotTheOperator(),
			FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}
	}
	ofComponents := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: oamv1alpha2.LabelComponent, Operator: metav1.LabelSelectorOpExists,
	}}}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: configuration},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			hook(validateName, rule(group, []string{applications, components}), nil),
			hook("revisions.oam.kinship.dev", rule(revisionKind.Group, []string{"controllerrevisions"}), ofComponents),
		},
	}
}

// probe sends a dry-run creation of an application that only the webhook refuses.
func probe(ctx context.Context, c client.Client, namespace string) error {
	ac := &oamv1alpha2.ApplicationConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kinship-probe-"},
		Spec: oamv1alpha2.ApplicationConfigurationSpec{Components: []oamv1alpha2.ApplicationConfigurationComponent{{
			ComponentName: "one", RevisionName: "two",
		}}},
	}
	err := c.Create(ctx, ac, client.DryRunAll)
	switch {
	case err == nil:
		return errors.New("the API server does not call the webhook for ApplicationConfigurations yet")
	case !strings.Contains(err.Error(), validateName+`" denied the request`):
		return fmt.Errorf("try the webhooks for ApplicationConfigurations: %w", err)
	default:
		return nil
	}
}

// forgetAuthors removes the authors of objects that were written while a guard was missing.
func forgetAuthors(ctx context.Context, live client.Client, since string) error {
	return authorise.Forget(ctx, live, fieldOwner, since,
		&oamv1alpha2.ApplicationConfigurationList{}, &oamv1alpha2.ComponentList{}, &oamv1alpha2.ContainerizedWorkloadList{},
		&oamv1alpha2.ManualScalerTraitList{}, &oamv1alpha2.HealthScopeList{}, &appsv1.ControllerRevisionList{})
}
