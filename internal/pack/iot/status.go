package iot

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Types of conditions. As kstatus defines, Reconciling and Stalled only exist while True.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
)

// Progress of an IotConnector is written into the status after firstReport, and then each time
// after reportRatio times the age of the report before. While many IotConnectors progress,
// each of them adds reportPause, so that all of them write at most five times per second.
const (
	firstReport = 20 * time.Second
	reportRatio = 10
	reportPause = 200 * time.Millisecond
)

// setConditions writes an outcome as conditions, for IotConnector and IotConnectorRelease.
func setConditions(list *[]metav1.Condition, outcome reconcile.Outcome, done condition.Done, generation int64) {
	ready := condition.Of(conditionReady, outcome, done, generation)
	condition.Set(list, ready)
	stalled := outcome.Worst().State == reconcile.Invalid
	setWhileTrue(list, ready, conditionReconciling, !outcome.IsDone() && !stalled)
	setWhileTrue(list, ready, conditionStalled, stalled)
}

// setWhileTrue adds a condition with reason and message of Ready, or removes the condition.
func setWhileTrue(list *[]metav1.Condition, ready metav1.Condition, name string, isTrue bool) {
	if !isTrue {
		meta.RemoveStatusCondition(list, name)
		return
	}
	ready.Type, ready.Status = name, metav1.ConditionTrue
	condition.Set(list, ready)
}

func (p *pass) setConditions(outcome reconcile.Outcome) {
	p.Status.ObservedGeneration = p.Generation
	done := condition.Done{Reason: reasonAvailable, Message: fmt.Sprintf(
		"Every Deployment of version %d is available.", p.Spec.EffectiveVersion())}
	setConditions(&p.Status.Conditions, outcome, done, p.Generation)
}

// conclude writes the status, or defers the write if the status only reports progress.
func (r *reconciler) conclude(ctx context.Context, p *pass, outcome reconcile.Outcome) reconcile.Outcome {
	if outcome.IsSuperseded() || (p.DeletionTimestamp != nil && outcome.IsDone()) {
		return outcome // The pass is repeated, or the IotConnector no longer exists.
	}
	p.setConditions(outcome)
	if pause := r.reports.Defer(p.id, r.clock.Now(), &p.recorded.Status, &p.Status); pause > 0 {
		return outcome.And(reconcile.After(pause))
	}
	return outcome.And(reconcile.Fail(reasonFailed, client.IgnoreNotFound(r.writeStatus(ctx, p))))
}

// writeStatus writes the status if the status differs from the record. The write fails if the
// IotConnector has changed since the pass began, because the pass decided on the old spec.
func (r *reconciler) writeStatus(ctx context.Context, p *pass) error {
	wrote, err := r.writer.Status(ctx, p.id, p.recorded, p.IotConnector, true)
	if wrote {
		r.reports.Wrote(p.id, r.clock.Now(), &p.recorded.Status, &p.Status)
		p.recorded = p.DeepCopy()
	}
	return err
}

func isReconciling(s *iotv1alpha1.IotConnectorStatus) bool {
	return meta.IsStatusConditionTrue(s.Conditions, conditionReconciling)
}

// coarse returns a status without the fields that change when another object was created or
// became available.
func coarse(s *iotv1alpha1.IotConnectorStatus) *iotv1alpha1.IotConnectorStatus {
	c := s.DeepCopy()
	for i := range c.Inventory {
		entry := &c.Inventory[i]
		entry.Ready, entry.UID, entry.Hash, entry.Mark = false, "", "", ""
	}
	for i := range c.Conditions {
		c.Conditions[i].Message = ""
	}
	return c
}
