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
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// refsOf implements engine.Kind.Ready: a change of spec.workloadRefs requeues the
// ApplicationConfigurations in the HealthScope.
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

// sumUp writes the health of each workload, in the order of spec.workloadRefs, and of the
// HealthScope. A workload that the operator can't read gets HealthUnknown, with the reason as its
// diagnosis.
func (r scopeReconciler) sumUp(ctx context.Context, p *scopePass) reconcile.Outcome {
	refs := p.obj.Spec.WorkloadReferences
	obstacles := make([]reconcile.Outcome, len(refs))
	ids := make([]object.ID, 0, len(refs))
	for i, ref := range refs {
		id := idOf(ref, p.obj.Namespace)
		anyVersion := id.GroupKind().WithVersion("")
		obstacles[i] = r.permittedFor(ctx, p.obj, "get", anyVersion)
		_, err := r.watcher.Mapping(anyVersion)
		if obstacles[i].IsDone() || err != nil { // The kind may be installed later, and then wakes the scope.
			ids = append(ids, id)
		}
	}
	all := r.workloads.Units(p.id, ids...)
	var outcome reconcile.Outcome
	sum := &oamv1alpha2.ScopeHealthCondition{HealthStatus: oamv1alpha2.Healthy}
	p.obj.Status.WorkloadHealthConditions = nil
	for i, ref := range refs {
		id := idOf(ref, p.obj.Namespace)
		obstacle := obstacles[i].And(r.engine.Listed(all[id].Kinds...))
		if obstacle.IsDone() { // The health of children tells what is in them.
			obstacle = r.permittedFor(ctx, p.obj, "get", kindsBelow(id, all[id].Members())...)
		}
		if obstacle.IsPassing() {
			return obstacle
		}
		outcome = outcome.And(obstacle)
		one := oamv1alpha2.WorkloadHealthCondition{
			TargetWorkload: ref, HealthStatus: oamv1alpha2.HealthUnknown, Diagnosis: obstacle.Message(),
		}
		if obstacle.IsDone() {
			found := all[id].Members()
			one.HealthStatus, one.Diagnosis = healthOf(id, found)
			if len(found) > 0 {
				one.ComponentName = found[0].Labels[oamv1alpha2.LabelAppComponent]
			}
		}
		one.Diagnosis = condition.Clip(one.Diagnosis) // Another controller wrote the messages, at any length.
		count(sum, one.HealthStatus)
		p.obj.Status.WorkloadHealthConditions = append(p.obj.Status.WorkloadHealthConditions, one)
	}
	p.obj.Status.ScopeHealthCondition = sum
	return outcome
}

// kindsBelow returns the kinds of the children of a workload.
func kindsBelow(workload object.ID, members []relation.Object) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, m := range members {
		kind := m.ID.GroupKind().WithVersion("")
		if m.ID.GroupKind() != workload.GroupKind() && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// count adds the health of a workload to the ScopeHealthCondition.
func count(sum *oamv1alpha2.ScopeHealthCondition, health oamv1alpha2.HealthStatus) {
	sum.Total++
	switch health {
	case oamv1alpha2.Healthy:
		sum.HealthyWorkloads++
		return
	case oamv1alpha2.Unhealthy:
		sum.UnhealthyWorkloads++
	default:
		sum.UnknownWorkloads++
	}
	sum.HealthStatus = oamv1alpha2.Unhealthy
}

// healthOf returns the health of a workload with its children: the worst of all health that can be
// judged.
func healthOf(id object.ID, found []relation.Object) (oamv1alpha2.HealthStatus, string) {
	if len(found) == 0 {
		return oamv1alpha2.Unhealthy, id.Short() + " does not exist"
	}
	var judged, bad []string
	found = slices.SortedFunc(slices.Values(found), func(a, b relation.Object) int { return object.Compare(a.ID, b.ID) })
	for _, obj := range found {
		s := shownOf(&obj)
		if s == nil || !s.health.IsJudged {
			continue
		}
		judged = append(judged, obj.ID.Short())
		if s.health.Status != status.CurrentStatus {
			bad = append(bad, fmt.Sprintf("%s: %s", obj.ID.Short(), s.health.Message))
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
