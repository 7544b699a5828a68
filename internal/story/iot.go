package story

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/examples"
)

// namespace is the namespace of stories about namespaced objects. No other IotConnector and no
// other Release is in this namespace.
const namespace = "kinship-stories"

// DefineNamespace creates that namespace.
func DefineNamespace(ctx context.Context, stage *Stage) error {
	ns := &unstructured.Unstructured{}
	ns.SetAPIVersion("v1")
	ns.SetKind("Namespace")
	ns.SetName(namespace)
	return stage.apply(ctx, ns)
}

// connectorProps are the objects of the stories about IotConnectors, from the
// examples.
type connectorProps struct {
	clinic, nothing, upgrade *unstructured.Unstructured
	alone, fhir              *unstructured.Unstructured
	hospital                 *unstructured.Unstructured
}

func newConnectorProps() (connectorProps, error) {
	var p connectorProps
	for _, file := range []struct {
		name string
		part **unstructured.Unstructured
	}{
		{"version0", &p.clinic},
		{"release0", &p.nothing},
		{"release1", &p.upgrade},
		{"normalization", &p.alone},
		{"destination", &p.fhir},
		{"connector", &p.hospital},
	} {
		objects, err := Read(examples.Iot, "iot/"+file.name+".yaml")
		if err != nil {
			return p, err
		}
		if len(objects) != 1 {
			return p, fmt.Errorf("read manifests: %d objects in %s, want 1", len(objects), file.name)
		}
		*file.part = objects[0]
		objects[0].SetNamespace(namespace)
	}
	return p, nil
}

// Iot returns the stories about IotConnectors.
func Iot() ([]Story, error) {
	p, err := newConnectorProps()
	if err != nil {
		return nil, err
	}
	return []Story{p.upgraded(), p.destination()}, nil
}

// LeaveIot applies an example once more, for people to look around.
func LeaveIot(ctx context.Context, s *Stage) error {
	p, err := newConnectorProps()
	if err != nil {
		return err
	}
	if err := s.apply(ctx, p.hospital); err != nil {
		return err
	}
	return s.awaitReady(ctx, p.hospital)
}

// upgraded is seed 2, "Rollout".
func (p connectorProps) upgraded() Story {
	old := deploymentNamed("clinic")
	return Story{
		Title: "A connector of version 0 is upgraded by a release, and serves all the time.",
		Cast:  []*unstructured.Unstructured{p.upgrade, p.clinic, p.hospital},
		Steps: []Step{
			{"create " + ID(p.clinic) + ": one Deployment", func(ctx context.Context, s *Stage) (string, error) {
				return "", s.composed(ctx, p.clinic, "clinic")
			}},
			{"a release with version 0 changes nothing", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.apply(ctx, p.nothing.DeepCopy()); err != nil {
					return "", err
				}
				if err := s.awaitReady(ctx, p.nothing); err != nil {
					return "", err
				}
				return "", s.composed(ctx, nil, "clinic")
			}},
			{"a release with version 1 upgrades it", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.apply(ctx, p.upgrade.DeepCopy()); err != nil {
					return "", err
				}
				if err := s.awaitReady(ctx, p.upgrade); err != nil {
					return "", err
				}
				if err := s.awaitGone(ctx, old); err != nil {
					return "", err
				}
				return "", s.composed(ctx, nil, "clinic-normalization", "clinic-fhirconverter")
			}},
			{"delete a Deployment by hand: it is back", func(ctx context.Context, s *Stage) (string, error) {
				gone := deploymentNamed("clinic-fhirconverter")
				before, err := s.get(ctx, gone)
				if err != nil {
					return "", err
				}
				if err := s.deleteObject(ctx, gone); err != nil {
					return "", err
				}
				return "", s.await(ctx, gone, "there is another one", func(live *unstructured.Unstructured) string {
					if live == nil || live.GetUID() == before.GetUID() {
						return absent
					}
					return ""
				})
			}},
			deleted(p.clinic),
		},
	}
}

// destination is seed 2, "Spec Creation" and "Deletion".
func (p connectorProps) destination() Story {
	var before []string
	same := func(ctx context.Context, s *Stage) (string, error) {
		after, err := s.pods(ctx, "abcd1234-normalization")
		if err != nil {
			return "", err
		}
		if !slices.Equal(before, after) {
			return "", &Mismatch{Expected: "the same Pods: " + strings.Join(before, ", "), Seen: strings.Join(after, ", ")}
		}
		return "still " + strings.Join(after, ", "), nil
	}
	return Story{
		Title: "A destination comes and goes, and the others' Pods stay.",
		Cast:  []*unstructured.Unstructured{p.alone},
		Steps: []Step{
			{"create " + ID(p.alone) + " without a destination", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.composed(ctx, p.alone, "abcd1234-normalization"); err != nil {
					return "", err
				}
				var err error
				before, err = s.pods(ctx, "abcd1234-normalization")
				return strings.Join(before, ", "), err
			}},
			{"add a FHIR destination", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.composed(ctx, p.fhir, "abcd1234-normalization", "abcd1234-fhir"); err != nil {
					return "", err
				}
				return same(ctx, s)
			}},
			{"remove it", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.composed(ctx, p.alone, "abcd1234-normalization"); err != nil {
					return "", err
				}
				if err := s.awaitGone(ctx, deploymentNamed("abcd1234-fhir")); err != nil {
					return "", err
				}
				return same(ctx, s)
			}},
			deleted(p.alone),
		},
	}
}

// composed applies an IotConnector, if given, and awaits that the IotConnector has Ready=True and
// that its Deployments have Available=True.
func (s *Stage) composed(ctx context.Context, connector *unstructured.Unstructured, names ...string) error {
	if connector != nil {
		if err := s.apply(ctx, connector.DeepCopy()); err != nil {
			return err
		}
		if err := s.awaitReady(ctx, connector); err != nil {
			return err
		}
	}
	for _, name := range names {
		err := s.await(ctx, deploymentNamed(name), "it is Available", func(live *unstructured.Unstructured) string {
			return condition(live, "Available")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func deploymentNamed(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apps/v1")
	u.SetKind("Deployment")
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// pods returns the names of the Pods of a Deployment, each with the first digits of metadata.uid.
func (s *Stage) pods(ctx context.Context, deployment string) ([]string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("PodList")
	err := s.client.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{"services.azurehealthcareapis.com/deployment": deployment})
	if err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, fmt.Sprintf("%s (uid %.8s)", ID(&list.Items[i]), list.Items[i].GetUID()))
	}
	slices.Sort(names)
	return names, nil
}
