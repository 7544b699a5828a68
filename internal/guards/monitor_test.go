package guards

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// failing is a client whose reads fail.
type failing struct {
	client.Client

	err error
}

func (f failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

// TestUnreadGuards: the watch reports a change of a guard, and the guard can't be read. The reconcilers are
// held up, and the metric and one line of the log say that the protection may be off.
func TestUnreadGuards(t *testing.T) {
	id := object.ID{Group: guard.ConfigurationKind.Group, Kind: guard.ConfigurationKind.Kind, Name: "guard"}
	old := &relation.Object{ID: id, UID: "1", Version: "7"}
	changed := &relation.Object{ID: id, UID: "1", Version: "8"}
	for name, row := range map[string]struct {
		change relation.Change
		begun  bool
		closed bool
	}{
		"deleted":                   {relation.Change{Old: old}, true, true},
		"deleted and created":       {relation.Change{Old: old, New: &relation.Object{ID: id, UID: "2"}}, true, true},
		"changed":                   {relation.Change{Old: old, New: changed}, true, true},
		"created":                   {relation.Change{New: &relation.Object{ID: id, UID: "2"}}, true, false},
		"the record is unread, too": {relation.Change{Old: old}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			c := failing{err: apierrors.NewTooManyRequests("try later", 1)}
			template := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: id.Name}}
			g := &Monitor{
				pack: pack.Pack{Name: "usage"}, live: c, reader: c, gate: &reconcile.Gate{}, begun: row.begun,
				recorder: Recorder{c, "usage"}, pending: map[object.ID]string{}, known: map[string]knownGuard{},
				wanted: map[object.ID]client.Object{id: template},
				protection: newProtection("usage", []string{keyOf(id)},
					logr.FromSlogHandler(slog.NewTextHandler(&log, nil))),
			}
			g.faults.Store(&[]Fault{})
			g.seen(row.change)
			for range 2 {
				if _, err := g.look(t.Context()); err == nil {
					t.Fatal("look returns no error")
				}
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if closed := g.gate.Wait(ended) != nil; closed != row.closed {
				t.Errorf("the gate is closed: %v, want %v", closed, row.closed)
			}
			text, err := testutil.CollectAndFormat(g.protection, expfmt.TypeTextPlain, "kinship_protection_off")
			if err != nil || !strings.Contains(string(text), "} 1\n") {
				t.Errorf("want kinship_protection_off = 1, got %s, error %v", text, err)
			}
			if n := strings.Count(log.String(), "ValidatingWebhookConfiguration guard can't be read: "); n != 1 {
				t.Errorf("want one line with the guard, got %s", &log)
			}
		})
	}
}

// TestUnreadAtTheEnd: a read that fails because the operator ends says nothing about the protection.
func TestUnreadAtTheEnd(t *testing.T) {
	c := failing{err: context.Canceled}
	var log bytes.Buffer
	g := &Monitor{
		pack: pack.Pack{Name: "usage"}, reader: c, gate: &reconcile.Gate{}, recorder: Recorder{c, "usage"},
		protection: newProtection("usage", []string{"guard"}, logr.FromSlogHandler(slog.NewTextHandler(&log, nil))),
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := g.look(ended); err == nil || log.Len() > 0 {
		t.Errorf("look returns %v and logs %s", err, &log)
	}
}
