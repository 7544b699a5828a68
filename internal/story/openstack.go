package story

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/examples"
)

// cloudProps are the objects of the story about OpenStack, from the examples.
type cloudProps struct {
	stack, given []*unstructured.Unstructured
	secret       *unstructured.Unstructured
}

func newCloudProps(clouds string) (cloudProps, error) {
	p := cloudProps{secret: cloudSecret(clouds)}
	for _, file := range []struct {
		name string
		part *[]*unstructured.Unstructured
	}{{"stack", &p.stack}, {"given", &p.given}} {
		objects, err := Read(examples.Openstack, "openstack/"+file.name+".yaml")
		if err != nil {
			return p, err
		}
		for _, object := range objects {
			object.SetNamespace(namespace)
		}
		*file.part = objects
	}
	return p, nil
}

// cloudSecret is the Secret with the clouds.yaml.
func cloudSecret(clouds string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind("Secret")
	u.SetNamespace(namespace)
	u.SetName("cloud")
	u.Object["stringData"] = map[string]any{"clouds.yaml": clouds}
	return u
}

// DefineOpenstack makes objects of an earlier run end without their cloud, which ended with
// that run.
func DefineOpenstack(ctx context.Context, stage *Stage, clouds string) error {
	p, err := newCloudProps(clouds)
	if err != nil {
		return err
	}
	if err := stage.apply(ctx, p.secret); err != nil {
		return err
	}
	for _, object := range p.stack {
		if object.GetKind() == "RouterInterface" {
			continue // The kind has no such option, and needs none.
		}
		if err := stage.patch(ctx, object, `{"spec":{"managedOptions":{"onDelete":"detach"}}}`); err != nil {
			return err
		}
	}
	return nil
}

// one returns the only object of a kind in cloudProps.stack.
func (p cloudProps) one(kind string) *unstructured.Unstructured {
	i := slices.IndexFunc(p.stack, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	return p.stack[i]
}

// Openstack returns the story about a cloud, which a clouds.yaml leads to.
func Openstack(clouds string) ([]Story, error) {
	p, err := newCloudProps(clouds)
	if err != nil {
		return nil, err
	}
	return []Story{p.anyOrder()}, nil
}

// LeaveOpenstack applies the example once more, for people to look around.
func LeaveOpenstack(ctx context.Context, s *Stage, clouds string) error {
	p, err := newCloudProps(clouds)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, slices.Concat(p.stack, p.given, []*unstructured.Unstructured{p.secret})...); err != nil {
		return err
	}
	return s.allAvailable(ctx, p.stack)
}

// anyOrder is seed 4, on dependencies and deletion guards.
func (p cloudProps) anyOrder() Story {
	port, network := p.one("Port"), p.one("Network")
	return Story{
		Title: "OpenStack resources are applied in the wrong order, and deleted in the wrong order.",
		// Objects of an earlier run can only be deleted while the cloud of their clouds.yaml
		// answers.
		Cast: slices.Concat([]*unstructured.Unstructured{p.secret}, p.given, p.stack),
		Steps: []Step{
			{
				"apply the stack, dependents first: each says all that it waits for",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.apply(ctx, copies(p.stack)...); err != nil {
						return "", err
					}
					return s.says(ctx, port, "Secret/cloud", "Network/internal", "Subnet/internal", "SecurityGroup/web")
				},
			},
			{
				"apply what the cloud has, and the Secret with the credentials: all are Available",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.apply(ctx, append(copies(p.given), p.secret.DeepCopy())...); err != nil {
						return "", err
					}
					return "", s.allAvailable(ctx, slices.Concat(p.stack, p.given))
				},
			},
			{
				"delete " + ID(network) + ": it stays, and says who needs it",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.deleteObject(ctx, network); err != nil {
						return "", err
					}
					return s.says(ctx, network, "Subnet/internal", "Port/web")
				},
			},
			{
				"delete everything else: all of it goes, each when nobody needs it any more",
				func(ctx context.Context, s *Stage) (string, error) {
					rest := slices.Concat([]*unstructured.Unstructured{p.secret}, p.given, p.stack)
					for _, object := range rest {
						if object == network {
							continue
						}
						if err := s.deleteObject(ctx, object); err != nil {
							return "", err
						}
					}
					return "", s.allGone(ctx, rest)
				},
			},
		},
	}
}

// says awaits that a condition Progressing names everything that is waited for, and
// returns its message.
func (s *Stage) says(ctx context.Context, object *unstructured.Unstructured, words ...string) (string, error) {
	said := ""
	err := s.await(ctx, object, "it names "+strings.Join(words, ", "), func(live *unstructured.Unstructured) string {
		said = message(live, "Progressing")
		for _, word := range words {
			if !strings.Contains(said, word) {
				return fmt.Sprintf("it says %q", said)
			}
		}
		return ""
	})
	return ID(object) + ": " + strings.ReplaceAll(said, "\n", "; "), err
}

func (s *Stage) allAvailable(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := s.awaitTrue(ctx, object, "Available"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) allGone(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := s.awaitGone(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

func copies(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		all = append(all, object.DeepCopy())
	}
	return all
}
