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
	return []Story{p.scaled()}, nil
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
