package iot

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// passOver returns a pass over an IotConnector with a recorded status.
func passOver(recorded iotv1alpha1.IotConnectorStatus) *pass {
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", Generation: 1}}
	c.Status = *recorded.DeepCopy()
	return &pass{IotConnector: c, id: object.Of(c, connectorKind.GroupKind()), recorded: c.DeepCopy()}
}

// applied sets the status of an IotConnector whose Deployment was created and is not available.
func applied(p *pass) {
	p.Status.Inventory = []iotv1alpha1.Composed{{Kind: "Deployment", Name: "a", UID: "uid", Hash: "hash", Mark: "mark"}}
	p.setConditions(reconcile.Progress(reasonProgressing, "Deployment/a does not exist yet"))
}

// TestOnlyProgressIsDeferred shows which status writes wait for firstReport.
func TestOnlyProgressIsDeferred(t *testing.T) {
	begun := passOver(iotv1alpha1.IotConnectorStatus{Version: new(int32)})
	begun.Status.Inventory = []iotv1alpha1.Composed{{Kind: "Deployment", Name: "a"}}
	begun.setConditions(reconcile.Progress(reasonProgressing, "Deployment/a is being applied"))
	cases := map[string]struct {
		reason   string
		change   func(*pass)
		deferred bool
	}{
		"applied": {"the record says already that Deployment/a is being applied", applied, true},
		"Ready":   {"clients wait for Ready", func(p *pass) { p.setConditions(reconcile.Outcome{}) }, false},
		"invalid": {"a person has to act", func(p *pass) { p.setConditions(reconcile.Refuse(reasonInvalid, "no")) }, false},
		"another spec": {"observedGeneration says that the spec was read", func(p *pass) {
			p.Generation++
			applied(p)
		}, false},
		"more entries": {"a deletion relies on status.inventory", func(p *pass) {
			applied(p)
			p.Status.Inventory = append(p.Status.Inventory, iotv1alpha1.Composed{Kind: "Deployment", Name: "b"})
		}, false},
		"another version": {"a rollback relies on status.version", func(p *pass) {
			applied(p)
			p.Status.Version = new(iotv1alpha1.Version1)
		}, false},
		"another reason": {"Terminating is no progress", func(p *pass) {
			p.setConditions(reconcile.Progress(reasonTerminating, "x"))
		}, false},
		"previous spec": {"a rollback relies on status.previous", func(p *pass) {
			applied(p)
			p.Status.Previous = &iotv1alpha1.PreviousSpec{Hash: "hash"}
		}, false},
		"nothing": {"there is nothing to write", func(*pass) {}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			r := newReconciler(nil, &reconcile.OwnKind{}, nil, nil, WorkloadIdentity)
			r.reports.Wrote(begun.id, now, &iotv1alpha1.IotConnectorStatus{}, &begun.Status)
			p := passOver(begun.Status)
			c.change(p)
			pause := r.reports.Defer(p.id, now.Add(time.Second), &p.recorded.Status, &p.Status)
			if (pause > 0) != c.deferred {
				t.Errorf("%s: deferred for %s", c.reason, pause)
			}
		})
	}
}
