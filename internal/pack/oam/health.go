package oam

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// refsOf implements engine.Kind.Ready: an application in the scope is woken when the list of the scope
// changes.
func refsOf(obj client.Object) (string, bool) {
	return fmt.Sprint(obj.(*oamv1alpha2.HealthScope).Spec.WorkloadReferences), true
}

type scopePass = pass[*oamv1alpha2.HealthScope]

// scopeReconciler sums up the health of the workloads of a HealthScope.
type scopeReconciler struct{ *environment }

func newScopes(e *environment, writes *reconcile.Writes) *reconcile.Pass[*scopePass] {
	r := scopeReconciler{e}
	return controller[*oamv1alpha2.HealthScope]{
		environment: e, writer: e.writerOf(writes),
		status: func(s *oamv1alpha2.HealthScope) *oamv1alpha2.ConditionedStatus { return &s.Status.ConditionedStatus },
		steps:  []reconcile.Step[*scopePass]{{Name: "sum up health", Run: r.sumUp}},
	}.pass()
}

// sumUp writes the health of each workload, in the order of spec.workloadRefs, and of the scope.
func (r scopeReconciler) sumUp(ctx context.Context, p *scopePass) reconcile.Outcome {
	ids := make([]object.ID, 0, len(p.obj.Spec.WorkloadReferences))
	kinds := make([]schema.GroupVersionKind, 0, len(p.obj.Spec.WorkloadReferences))
	for _, ref := range p.obj.Spec.WorkloadReferences {
		ids = append(ids, idOf(ref, p.obj.Namespace))
		kinds = append(kinds, schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	}
	if len(ids) > 0 {
		if outcome := r.permittedFor(ctx, p.obj, "get", kinds...); !outcome.IsDone() {
			return outcome
		}
	}
	all, outcome := r.members(p.id, ids...)
	if !outcome.IsDone() {
		return outcome
	}
	sum := &oamv1alpha2.ScopeHealthCondition{HealthStatus: oamv1alpha2.Healthy}
	p.obj.Status.WorkloadHealthConditions = nil
	for i, ref := range p.obj.Spec.WorkloadReferences {
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
		p.obj.Status.WorkloadHealthConditions = append(p.obj.Status.WorkloadHealthConditions, one)
	}
	if sum.HealthyWorkloads < sum.Total {
		sum.HealthStatus = oamv1alpha2.Unhealthy
	}
	p.obj.Status.ScopeHealthCondition = sum
	return reconcile.Outcome{}
}

// healthOf returns the health of a workload with its children: the worst of all that can be judged.
func healthOf(id object.ID, found []relation.Object) (oamv1alpha2.HealthStatus, string) {
	if len(found) == 0 {
		return oamv1alpha2.Unhealthy, id.Short() + " does not exist"
	}
	var judged, bad []string
	found = slices.SortedFunc(slices.Values(found), func(a, b relation.Object) int { return object.Compare(a.ID, b.ID) })
	for _, obj := range found {
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
