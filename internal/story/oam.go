package story

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/examples"
)

// applicationProps are the objects of the story about an ApplicationConfiguration, from the examples.
type applicationProps struct {
	scope, component, application *unstructured.Unstructured
}

func newApplicationProps() (applicationProps, error) {
	objects, err := Read(examples.Oam, "oam/website.yaml")
	if err != nil {
		return applicationProps{}, err
	}
	if len(objects) != 3 {
		return applicationProps{}, fmt.Errorf("read manifests: %d objects in website.yaml, want 3", len(objects))
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	return applicationProps{objects[0], objects[1], objects[2]}, nil
}

// DefineOam applies the definitions of workloads, traits and scopes.
func DefineOam(ctx context.Context, stage *Stage) error {
	definitions, err := Read(examples.Oam, "oam/oam.yaml")
	if err != nil {
		return err
	}
	return stage.apply(ctx, definitions...)
}

// Oam returns the story about an ApplicationConfiguration.
func Oam() ([]Story, error) {
	p, err := newApplicationProps()
	if err != nil {
		return nil, err
	}
	changed, err := newChangedProps()
	if err != nil {
		return nil, err
	}
	return []Story{p.scaled(), changed.story()}, nil
}

// LeaveOam applies the example once more, for people to look around.
func LeaveOam(ctx context.Context, s *Stage) error {
	p, err := newApplicationProps()
	if err != nil {
		return err
	}
	return s.apply(ctx, p.scope, p.component, p.application)
}

// scaled is seed 5: a trait and a scope find their workload, and the trait finds the Deployment.
func (p applicationProps) scaled() Story {
	return Story{
		Title: "An application scales a workload by a trait, and a scope tells its health.",
		Cast:  []*unstructured.Unstructured{p.scope, p.component, p.application},
		Steps: []Step{
			{"apply a Component and an application of it: its Deployment has 3 Pods", p.applied},
			{"the scope tells that the workload is healthy", p.healthy},
			{"scale the Deployment by hand: the trait restores 3 Pods", p.restored},
			{"change the Component: the Deployment follows, and the former revision is recorded", p.followed},
			{"delete the application: workload, trait and Deployment go, and the scope is empty", p.deleted},
		},
	}
}

// website is the Deployment of the workload.
func website() *unstructured.Unstructured { return deploymentNamed("website") }

func (p applicationProps) applied(ctx context.Context, s *Stage) (string, error) {
	if err := s.apply(ctx, p.scope.DeepCopy(), p.component.DeepCopy(), p.application.DeepCopy()); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, website(), "3", "status.readyReplicas")
}

func (p applicationProps) healthy(ctx context.Context, s *Stage) (string, error) {
	if err := s.awaitField(ctx, p.scope, "1", "status.scopeHealthCondition.healthyWorkloads"); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, p.scope, "HEALTHY", "status.scopeHealthCondition.healthStatus")
}

func (p applicationProps) restored(ctx context.Context, s *Stage) (string, error) {
	if err := s.patch(ctx, website(), `{"spec":{"replicas":1}}`); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, website(), "3", "spec.replicas")
}

func (p applicationProps) followed(ctx context.Context, s *Stage) (string, error) {
	const change = `{"spec":{"workload":{"spec":{"containers":[{"name":"web","image":"nginx","args":["-g"]}]}}}}`
	if err := s.patch(ctx, p.component, change); err != nil {
		return "", err
	}
	if err := s.awaitField(ctx, p.component, "website-v2", "status.latestRevision.name"); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, website(), "-g", "spec.template.spec.containers[*].args[*]")
}

func (p applicationProps) deleted(ctx context.Context, s *Stage) (string, error) {
	if err := s.deleteObject(ctx, p.application); err != nil {
		return "", err
	}
	if err := s.allGone(ctx, []*unstructured.Unstructured{p.application, website()}); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, p.scope, "[]", "spec.workloadRefs")
}

// changedProps are the objects of the story about a trait that changes what the Component says.
type changedProps struct {
	component, application *unstructured.Unstructured
}

func newChangedProps() (changedProps, error) {
	objects, err := Read(examples.Oam, "oam/deployment.yaml")
	if err != nil {
		return changedProps{}, err
	}
	if len(objects) != 2 {
		return changedProps{}, fmt.Errorf("read manifests: %d objects in deployment.yaml, want 2", len(objects))
	}
	for _, object := range objects {
		object.SetNamespace(namespace)
	}
	return changedProps{objects[0], objects[1]}, nil
}

func (p changedProps) story() Story {
	return Story{
		Title: "A trait changes what a Component says, and the Component's value returns when the trait goes.",
		Cast:  []*unstructured.Unstructured{p.component, p.application, deploymentNamed("frontend")},
		Steps: []Step{
			{"apply a Component with 1 Pod, and a trait with 2: the Deployment has 2 Pods", p.applied},
			{"the application is Synced, and says which field is left to the trait", p.told},
			{"take the trait away: the Deployment has 1 Pod", p.returned},
			{"delete the application: the Deployment goes", p.deleted},
		},
	}
}

func (p changedProps) applied(ctx context.Context, s *Stage) (string, error) {
	if err := s.apply(ctx, p.component.DeepCopy(), p.application.DeepCopy()); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, deploymentNamed("frontend"), "2", "status.readyReplicas")
}

func (p changedProps) told(ctx context.Context, s *Stage) (string, error) {
	const note = "Deployment/frontend: spec.replicas is left to field manager kinship-oam/ManualScalerTrait/frontend"
	if err := s.awaitField(ctx, p.application, note, "status.conditions[*].message"); err != nil {
		return "", err
	}
	return note, s.awaitField(ctx, p.application, "True", "status.conditions[*].status")
}

func (p changedProps) returned(ctx context.Context, s *Stage) (string, error) {
	if err := s.patch(ctx, p.application, `{"spec":{"components":[{"componentName":"frontend"}]}}`); err != nil {
		return "", err
	}
	return "", s.awaitField(ctx, deploymentNamed("frontend"), "1", "spec.replicas")
}

func (p changedProps) deleted(ctx context.Context, s *Stage) (string, error) {
	if err := s.deleteObject(ctx, p.application); err != nil {
		return "", err
	}
	if err := s.allGone(ctx, []*unstructured.Unstructured{p.application, deploymentNamed("frontend")}); err != nil {
		return "", err
	}
	return "", s.deleteObject(ctx, p.component)
}
