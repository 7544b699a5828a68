package oam

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// scopeReconciler sums up the health of the workloads of a HealthScope.
type scopeReconciler struct {
	*environment

	writer reconcile.Writer
}

func newScopes(e *environment, writes *reconcile.Writes) *scopeReconciler {
	return &scopeReconciler{e, reconcile.Writer{Client: e.live, FieldOwner: fieldOwner, Writes: writes}}
}

// refsOf implements engine.Kind.Ready: an application in the scope is woken when the list of the scope
// changes.
func refsOf(obj client.Object) (string, bool) {
	return fmt.Sprint(obj.(*oamv1alpha2.HealthScope).Spec.WorkloadReferences), true
}

type scopePass struct {
	*oamv1alpha2.HealthScope

	id       object.ID
	recorded *oamv1alpha2.HealthScope
}

func (r *scopeReconciler) pass() *reconcile.Pass[*scopePass] {
	return &reconcile.Pass[*scopePass]{
		Read: func(_ context.Context, id object.ID) (client.Object, error) { return r.engine.Get(id), nil },
		Begin: func(id object.ID, obj client.Object) *scopePass {
			recorded := obj.(*oamv1alpha2.HealthScope)
			return &scopePass{recorded.DeepCopy(), id, recorded}
		},
		Conclude: r.conclude, Writes: r.writer.Writes,
		Forget: func(_ context.Context, id object.ID) { r.watcher.Use(id) },
		Live:   []reconcile.Step[*scopePass]{{Name: "sum up health", Run: r.sumUp}},
	}
}

// sumUp writes the health of each workload, in the order of spec.workloadRefs, and of the scope.
func (r *scopeReconciler) sumUp(ctx context.Context, p *scopePass) reconcile.Outcome {
	ids := make([]object.ID, 0, len(p.Spec.WorkloadReferences))
	kinds := []schema.GroupVersionKind{}
	for _, ref := range p.Spec.WorkloadReferences {
		ids = append(ids, idOf(ref, p.Namespace))
		kinds = append(kinds, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	}
	if len(ids) > 0 {
		if outcome := r.permittedFor(ctx, p.HealthScope, "get", kinds...); !outcome.IsDone() {
			return outcome
		}
	}
	all, outcome := r.members(p.id, ids...)
	if !outcome.IsDone() {
		return outcome
	}
	sum := &oamv1alpha2.ScopeHealthCondition{HealthStatus: oamv1alpha2.Healthy}
	p.Status.WorkloadHealthConditions = nil
	for i, ref := range p.Spec.WorkloadReferences {
		one := oamv1alpha2.WorkloadHealthCondition{TargetWorkload: ref}
		one.HealthStatus, one.Diagnosis = healthOf(ids[i], all[ids[i]])
		if found := all[ids[i]]; len(found) > 0 {
			one.ComponentName = found[0].Labels[oamv1alpha2.LabelAppComponent]
		}
		sum.Total++
		switch one.HealthStatus {
		case oamv1alpha2.Healthy:
			sum.HealthyWorkloads++
		case oamv1alpha2.Unhealthy:
			sum.UnhealthyWorkloads++
		default:
			sum.UnknownWorkloads++
		}
		p.Status.WorkloadHealthConditions = append(p.Status.WorkloadHealthConditions, one)
	}
	if sum.HealthyWorkloads < sum.Total {
		sum.HealthStatus = oamv1alpha2.Unhealthy
	}
	p.Status.ScopeHealthCondition = sum
	return reconcile.Outcome{}
}

// healthOf returns the health of a workload with its children: the worst of all that can be judged.
func healthOf(id object.ID, found []relation.Object) (oamv1alpha2.HealthStatus, string) {
	if len(found) == 0 {
		return oamv1alpha2.Unhealthy, id.Short() + " does not exist"
	}
	var judged, bad []string
	for _, obj := range slices.SortedFunc(slices.Values(found), func(a, b relation.Object) int { return cmp.Compare(a.ID.Kind, b.ID.Kind) }) {
		s := shownOf(&obj)
		if s == nil || !s.isJudged {
			continue
		}
		judged = append(judged, obj.ID.Short())
		if s.state != status.CurrentStatus {
			bad = append(bad, fmt.Sprintf("%s: %s", obj.ID.Short(), s.diagnosis))
		}
	}
	switch {
	case len(bad) > 0:
		return oamv1alpha2.Unhealthy, strings.Join(bad, "; ")
	case len(judged) == 0:
		return oamv1alpha2.HealthUnknown, "the state of " + id.Short() + " is not known: it has no condition Ready"
	default:
		return oamv1alpha2.Healthy, ""
	}
}

func (r *scopeReconciler) conclude(ctx context.Context, p *scopePass, outcome reconcile.Outcome) reconcile.Outcome {
	if isPassing(outcome) || p.DeletionTimestamp != nil {
		return outcome
	}
	if !outcome.IsDone() { // No condition is published for a HealthScope.
		p.Status.ScopeHealthCondition = &oamv1alpha2.ScopeHealthCondition{
			HealthStatus: oamv1alpha2.HealthUnknown, Total: int64(len(p.Spec.WorkloadReferences)),
			UnknownWorkloads: int64(len(p.Spec.WorkloadReferences)),
		}
		setSynced(&p.Status.ConditionedStatus, outcome)
	} else if len(p.Status.Conditions) > 0 {
		setSynced(&p.Status.ConditionedStatus, outcome)
	}
	if equality.Semantic.DeepEqual(p.recorded.Status, p.Status) {
		return outcome
	}
	_, err := r.writer.Status(ctx, p.id, p.recorded, p.HealthScope, false)
	return outcome.And(reconcile.Fail(reasonError, client.IgnoreNotFound(err)))
}
