package iot

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// telling returns a pass over a connector of which a status is on record.
func telling(name string, recorded iotv1alpha1.IotConnectorStatus) *pass {
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1}}
	c.Status = *recorded.DeepCopy()
	return &pass{IotConnector: c, id: object.Of(c, connectorKind.GroupKind()), seen: recorded}
}

// applied has a pass learn that what it wanted was applied, and serves not yet.
func applied(p *pass) {
	p.Status.Inventory = []iotv1alpha1.Composed{{Kind: "Deployment", Name: "a", UID: "uid", Hash: "hash", Mark: "mark"}}
	p.judge(reconcile.Progress(reasonProgressing, "Deployment/a is not there yet"))
}

func served(p *pass) { p.judge(reconcile.Outcome{}) }

func refused(p *pass) { p.judge(reconcile.Refuse(reasonInvalid, "no")) }

func specified(p *pass) {
	p.Generation++
	applied(p)
}

// TestPutOff shows which writes of a status can wait, and for how long.
func TestPutOff(t *testing.T) {
	now := time.Now()
	begun := telling("c", iotv1alpha1.IotConnectorStatus{Version: new(int32)})
	begun.Status.Inventory = []iotv1alpha1.Composed{{Kind: "Deployment", Name: "a"}}
	begun.judge(reconcile.Progress(reasonProgressing, "Deployment/a is being applied"))
	recorded := begun.Status
	cases := map[string]struct {
		reason string
		others int
		after  time.Duration
		change func(*pass)
		want   time.Duration
	}{
		"applied":      {"it is good enough to know that it was to be applied", 0, time.Second, applied, 19 * time.Second},
		"slow":         {"after a while one wants to know what is missing", 0, firstReport, applied, 0},
		"many":         {"its turn comes every 80.2 s", 400, time.Second, applied, 79200 * time.Millisecond},
		"a few":        {"sooner than after 20 s is no use to anybody", 50, time.Second, applied, 19 * time.Second},
		"Ready":        {"that is what all wait for", 0, time.Second, served, 0},
		"wrong":        {"somebody has to do something", 0, time.Second, refused, 0},
		"another spec": {"it is known to be read", 0, time.Second, specified, 0},
		"more entries": {"what is on record is what is deleted", 0, time.Second, func(p *pass) {
			applied(p)
			p.Status.Inventory = append(p.Status.Inventory, iotv1alpha1.Composed{Kind: "Deployment", Name: "b"})
		}, 0},
		"another version": {"what may be rolled back to hangs on it", 0, time.Second, func(p *pass) {
			applied(p)
			p.Status.Version = new(iotv1alpha1.Version1)
		}, 0},
		"another reason": {"it is not progress any more", 0, time.Second, func(p *pass) {
			p.judge(reconcile.Progress(reasonTerminating, "x"))
		}, 0},
		"what was before": {"there is no other record of it", 0, time.Second, func(p *pass) {
			applied(p)
			p.Status.Previous = &iotv1alpha1.PreviousSpec{Hash: "hash"}
		}, 0},
		"nothing": {"there is nothing to write", 0, time.Second, func(*pass) {}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &reports{}
			for i := range c.others {
				other := telling(fmt.Sprint(i), iotv1alpha1.IotConnectorStatus{})
				other.Status = recorded
				r.wrote(other, now)
			}
			first := telling("c", iotv1alpha1.IotConnectorStatus{})
			first.Status = recorded
			r.wrote(first, now)
			p := telling("c", recorded)
			c.change(p)
			if got := r.putOff(p, now.Add(c.after)); got != c.want {
				t.Errorf("%s: put off for %s, want %s", c.reason, got, c.want)
			}
		})
	}
}

// TestKnown: what was put off is what the next pass goes on from, for as long as it belongs
// to what is on record.
func TestKnown(t *testing.T) {
	now, r := time.Now(), &reports{}
	first := telling("c", iotv1alpha1.IotConnectorStatus{})
	first.Status.Inventory = []iotv1alpha1.Composed{{Kind: "Deployment", Name: "a"}}
	first.judge(reconcile.Progress(reasonProgressing, "Deployment/a is being applied"))
	r.wrote(first, now)
	recorded := first.Status
	p := telling("c", recorded)
	applied(p)
	if r.putOff(p, now) == 0 {
		t.Fatal("it is not put off")
	}
	if diff := cmp.Diff(&p.Status, r.known(telling("c", recorded))); diff != "" {
		t.Errorf("what is known differs from what was put off: %s", diff)
	}
	other := *recorded.DeepCopy()
	other.ObservedGeneration++
	if diff := cmp.Diff(&other, r.known(telling("c", other))); diff != "" {
		t.Errorf("somebody has recorded something else, and what was put off is believed: %s", diff)
	}
	r.wrote(p, now.Add(firstReport))
	p.seen = *p.Status.DeepCopy()
	p.judge(reconcile.Progress(reasonProgressing, "Deployment/a has 0 of 1 available"))
	if got, want := r.putOff(p, now.Add(firstReport)), reportRatio*firstReport; got != want {
		t.Errorf("the second report is put off for %s, want %s", got, want)
	}
	p.seen = *p.Status.DeepCopy() // It was written, and nobody answered.
	if r.putOff(p, now); r.last[p.id].known != nil {
		t.Error("what is on record is still put off")
	}
	served(p)
	r.wrote(p, now)
	if len(r.last) > 0 {
		t.Errorf("what is ready is remembered: %v", r.last)
	}
}
