package story

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/examples"
)

// inUse is the label that makes the API server ask the operator before a deletion.
const inUse = "crossplane.io/in-use"

// props are the objects of the stories about Usages, from the examples.
type props struct {
	definitions                      []*unstructured.Unstructured
	cluster, chart, database         *unstructured.Unstructured
	named, protection                *unstructured.Unstructured
	platform, eks, services, ordered *unstructured.Unstructured
	others                           []*unstructured.Unstructured
}

// newProps reads the examples. Objects come in the order of the files.
func newProps() (props, error) {
	var p props
	for _, file := range []struct {
		name  string
		parts []**unstructured.Unstructured // by their place in the file; nil leaves the object out
		all   *[]*unstructured.Unstructured
	}{
		{"definitions", nil, &p.definitions},
		{"objects", []**unstructured.Unstructured{&p.cluster, &p.chart, nil, &p.database}, nil},
		{"named", []**unstructured.Unstructured{&p.named}, nil},
		{"protection", []**unstructured.Unstructured{&p.protection}, nil},
		{"composition", []**unstructured.Unstructured{&p.platform, &p.eks, &p.services, &p.ordered}, nil},
		{"namespaced", nil, &p.others},
		{"across-namespaces", nil, &p.others},
	} {
		objects, err := Read(examples.Usage, "usage/"+file.name+".yaml")
		if err != nil {
			return p, err
		}
		if file.all != nil {
			*file.all = append(*file.all, objects...)
			continue
		}
		if len(objects) != len(file.parts) {
			return p, fmt.Errorf("read manifests: %d objects in %s, want %d", len(objects), file.name, len(file.parts))
		}
		for i, part := range file.parts {
			if part != nil {
				*part = objects[i]
			}
		}
	}
	return p, nil
}

// DefineUsage creates the kinds that the stories about Usages need.
func DefineUsage(ctx context.Context, s *Stage) error {
	p, err := newProps()
	if err != nil {
		return err
	}
	return s.apply(ctx, p.definitions...)
}

// LeaveUsage applies the examples once more, for people to look around, and returns when all
// used objects are protected.
func LeaveUsage(ctx context.Context, s *Stage) error {
	p, err := newProps()
	if err != nil {
		return err
	}
	if err := p.render(ctx, s); err != nil {
		return err
	}
	standing := slices.Concat(p.others, []*unstructured.Unstructured{
		p.cluster, p.chart, p.database, p.named, p.protection, p.ordered,
	})
	if err := s.apply(ctx, standing...); err != nil {
		return err
	}
	for _, object := range standing {
		if !strings.HasSuffix(object.GetKind(), "Usage") {
			continue
		}
		if err := s.awaitReady(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// Usage returns the stories about Usages.
func Usage() ([]Story, error) {
	p, err := newProps()
	if err != nil {
		return nil, err
	}
	return []Story{p.used(), p.protected(), p.composed()}, nil
}

// used is the first example of seed 3, from its beginning to its end.
func (p props) used() Story {
	return Story{
		Title: "A release uses a cluster, so the cluster may not go first.",
		Cast:  []*unstructured.Unstructured{p.cluster, p.chart, p.named},
		Steps: []Step{
			{"create " + ID(p.cluster) + " and " + ID(p.chart), func(ctx context.Context, s *Stage) (string, error) {
				return "", s.apply(ctx, p.cluster, p.chart)
			}},
			p.protects(p.named, p.cluster),
			refused(p.cluster, "The resource is used by 1 resource(s): Release/my-prometheus-chart "+
				"(Usage release-uses-cluster)."),
			{"delete " + ID(p.chart) + ": its Usage goes with it", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.deleteObject(ctx, p.chart); err != nil {
					return "", err
				}
				return "", s.awaitGone(ctx, p.named)
			}},
			{ID(p.cluster) + " is free", func(ctx context.Context, s *Stage) (string, error) {
				return "", s.awaitLabel(ctx, p.cluster, inUse, "")
			}},
			deleted(p.cluster),
		},
	}
}

// protected is the third example of seed 3: a Usage without a using object.
func (p props) protected() Story {
	return Story{
		Title: "A production database is protected for a reason, until somebody lifts that.",
		Cast:  []*unstructured.Unstructured{p.database, p.protection},
		Steps: []Step{
			{"create " + ID(p.database), func(ctx context.Context, s *Stage) (string, error) {
				return "", s.apply(ctx, p.database)
			}},
			p.protects(p.protection, p.database),
			refused(p.database, `The resource is protected: "Production Database - should never be deleted" `+
				"(Usage production-database)."),
			{
				"delete " + ID(p.protection) + ": " + ID(p.database) + " is free",
				func(ctx context.Context, s *Stage) (string, error) {
					if err := s.deleteObject(ctx, p.protection); err != nil {
						return "", err
					}
					return "", s.awaitLabel(ctx, p.database, inUse, "")
				},
			},
			deleted(p.database),
		},
	}
}

// composed is the composition of seed 3, whose parts the garbage collector deletes in any
// order.
func (p props) composed() Story {
	return Story{
		Title: "A composite is deleted; the services that run on its cluster go before the cluster.",
		Cast:  []*unstructured.Unstructured{p.platform, p.eks, p.services, p.ordered},
		Steps: []Step{
			{
				"create " + ID(p.platform) + ", composed of " + ID(p.eks) + " and " + ID(p.services),
				func(ctx context.Context, s *Stage) (string, error) {
					if err := p.render(ctx, s); err != nil {
						return "", err
					}
					return "", s.holdDeletion(ctx, p.services)
				},
			},
			p.protects(p.ordered, p.eks),
			refused(p.eks, "The resource is used by 1 resource(s): XServices/my-platform-services "+
				"(Usage xservices-uses-xeks)."),
			deleted(p.platform),
			{"the garbage collector deletes what it composed: " + ID(p.services) + " first", p.servicesGoFirst},
			{ID(p.services) + " is torn down and gone", func(ctx context.Context, s *Stage) (string, error) {
				if err := s.dropFinalizer(ctx, p.services); err != nil {
					return "", err
				}
				return "", s.awaitGone(ctx, p.services)
			}},
			{ID(p.eks) + " is gone, and nobody had to try again", func(ctx context.Context, s *Stage) (string, error) {
				return "", s.awaitGone(ctx, p.eks)
			}},
			{ID(p.ordered) + " is gone", func(ctx context.Context, s *Stage) (string, error) {
				return "", s.awaitGone(ctx, p.ordered)
			}},
		},
	}
}

// render plays the controller of the composite. The Usage, another part, comes in a step of its
// own.
func (p props) render(ctx context.Context, s *Stage) error {
	if err := s.apply(ctx, p.platform); err != nil {
		return err
	}
	Compose(p.platform, p.eks, p.services, p.ordered)
	return s.apply(ctx, p.eks, p.services)
}

// servicesGoFirst awaits that the services are being deleted, and checks that their cluster is
// unchanged.
func (p props) servicesGoFirst(ctx context.Context, s *Stage) (string, error) {
	deleting := func(live *unstructured.Unstructured) string {
		switch {
		case live == nil:
			return absent
		case live.GetDeletionTimestamp() == nil:
			return "it is not being deleted"
		default:
			return ""
		}
	}
	if err := s.await(ctx, p.services, "it is being deleted", deleting); err != nil {
		return "", err
	}
	eks, err := s.get(ctx, p.eks)
	if err != nil {
		return "", err
	}
	if seen := deleting(eks); seen != "it is not being deleted" {
		return "", &Mismatch{Expected: ID(p.eks) + " waits for " + ID(p.services), Seen: "it is gone or being deleted"}
	}
	return ID(p.services) + " is being torn down; " + ID(p.eks) + " is there and whole", nil
}

// protects is the step in which a Usage is created and takes effect.
func (p props) protects(usage, used *unstructured.Unstructured) Step {
	return Step{ID(usage) + " protects " + ID(used), func(ctx context.Context, s *Stage) (string, error) {
		if err := s.apply(ctx, usage); err != nil {
			return "", err
		}
		if err := s.awaitReady(ctx, usage); err != nil {
			return "", err
		}
		return "", s.awaitLabel(ctx, used, inUse, "true")
	}}
}

// refused is the step in which an object can't be deleted.
func refused(object *unstructured.Unstructured, message string) Step {
	return Step{"delete " + ID(object) + ": refused", func(ctx context.Context, s *Stage) (string, error) {
		return s.expectRefusal(ctx, object, message)
	}}
}

// deleted is the step in which an object can be deleted.
func deleted(object *unstructured.Unstructured) Step {
	return Step{"delete " + ID(object) + ": gone", func(ctx context.Context, s *Stage) (string, error) {
		if err := s.deleteObject(ctx, object); err != nil {
			return "", err
		}
		return "", s.awaitGone(ctx, object)
	}}
}
