package oam

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// revisionLimit is how many revisions of a Component the operator keeps besides those that an
// ApplicationConfiguration names.
const revisionLimit = 50

// latestRevision returns the name of status.latestRevision, and whether the revision is of the
// Component's current spec.
func latestRevision(c *oamv1alpha2.Component) (string, bool) {
	if c.Status.LatestRevision == nil {
		return "", false
	}
	return c.Status.LatestRevision.Name, c.Status.ObservedGeneration == c.Generation
}

// isRecorded implements engine.Kind.Ready: a Component can be used when its current spec has a
// revision. A change of the id requeues the Component's ApplicationConfigurations, so the id
// contains the labels and annotations, which render copies to the workload.
func isRecorded(obj client.Object) (string, bool) {
	c := obj.(*oamv1alpha2.Component)
	name, ok := latestRevision(c)
	return fmt.Sprint(name, c.Labels, c.Annotations), ok
}

type componentPass = pass[*oamv1alpha2.Component]

// componentReconciler records each spec of a Component in a ControllerRevision.
type componentReconciler struct{ *environment }

func newComponents(e *environment, writes *reconcile.Writes) *reconcile.Pass[*componentPass] {
	r := componentReconciler{e}
	return controller[*oamv1alpha2.Component]{
		environment: e, writer: e.writerOf(writes),
		status: func(c *oamv1alpha2.Component) *oamv1alpha2.ConditionedStatus { return &c.Status.ConditionedStatus },
		steps: []reconcile.Step[*componentPass]{
			{Name: "record revision", Run: r.record},
			{Name: "delete old revisions", Run: r.collect},
		},
	}.pass()
}

// record creates a ControllerRevision, unless the newest revision has the spec of the Component.
func (r componentReconciler) record(ctx context.Context, p *componentPass) reconcile.Outcome {
	var last int64
	if latest := p.obj.Status.LatestRevision; latest != nil {
		last = latest.Revision
	}
	content := &oamv1alpha2.Component{Spec: p.obj.Spec}
	content.APIVersion, content.Kind = componentKind.ToAPIVersionAndKind()
	content.Name, content.Namespace, content.Labels = p.obj.Name, p.obj.Namespace, p.obj.Labels
	revision, outcome := r.history.Record(ctx, p.obj, last, content, func(data []byte) bool {
		var recorded oamv1alpha2.Component
		return json.Unmarshal(data, &recorded) == nil && sameSpec(&recorded, p.obj)
	})
	if revision != nil {
		setLatest(p.obj, revision)
	}
	return outcome
}

func setLatest(c *oamv1alpha2.Component, revision *appsv1.ControllerRevision) {
	c.Status.LatestRevision = &oamv1alpha2.Revision{Name: revision.Name, Revision: revision.Revision}
	c.Status.ObservedGeneration = c.Generation
}

// sameSpec reports whether two Components have the same spec.
func sameSpec(a, b *oamv1alpha2.Component) bool {
	var before, now any
	if json.Unmarshal(a.Spec.Workload.Raw, &before) != nil || json.Unmarshal(b.Spec.Workload.Raw, &now) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(before, now) && equality.Semantic.DeepEqual(a.Spec.Parameters, b.Spec.Parameters)
}

// collect deletes the oldest revisions that no ApplicationConfiguration names.
func (r componentReconciler) collect(ctx context.Context, p *componentPass) reconcile.Outcome {
	return r.history.Prune(ctx, p.obj, p.obj.Status.LatestRevision.Name, func(old *appsv1.ControllerRevision) bool {
		return len(r.engine.Sources(object.Of(old, revisionKind.GroupKind()), "")) > 0 || r.isDeployed(old)
	})
}

// isDeployed reports whether an ApplicationConfiguration has a workload of a revision in
// status.historyWorkloads.
func (r componentReconciler) isDeployed(revision *appsv1.ControllerRevision) bool {
	for _, source := range r.engine.Sources(r.history.ParentOf(revision), "") {
		ac, ok := r.engine.Get(source).(*oamv1alpha2.ApplicationConfiguration)
		if ok && slices.ContainsFunc(ac.Status.HistoryWorkloads, func(h oamv1alpha2.HistoryWorkload) bool {
			return h.Revision == revision.Name
		}) {
			return true
		}
	}
	return false
}
