package oam

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/tools/events"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestReportChanges: a change of an application is told once, by an event, which the operator's recorder
// logs, or by a line of the log.
func TestReportChanges(t *testing.T) {
	id := object.ID{Kind: "Bar", Name: "db"}
	created := apply.ChangeSet{{ID: id, Action: apply.Created}}
	former := []oamv1alpha2.WorkloadStatus{{ComponentName: "db"}}
	for name, row := range map[string]struct {
		former       []oamv1alpha2.WorkloadStatus
		changes      apply.ChangeSet
		events, logs int
	}{
		"first objects": {nil, created, 0, 1},
		"later objects": {former, created, 1, 0},
		"no change":     {former, nil, 0, 0},
		"no objects":    {nil, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			recorder := events.NewFakeRecorder(10)
			r := &applicationReconciler{environment: &environment{
				events: recorder,
				log:    funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}),
			}}
			r.reportChanges(&applicationPass{
				ApplicationConfiguration: &oamv1alpha2.ApplicationConfiguration{}, id: id, former: row.former,
			}, row.changes)
			if len(recorder.Events) != row.events || len(lines) != row.logs {
				t.Errorf("%d events and the lines %q, want %d and %d", len(recorder.Events), lines, row.events, row.logs)
			}
			if len(lines) > 0 && !strings.Contains(lines[0], "created Bar/db") {
				t.Errorf("the line is %s", lines[0])
			}
		})
	}
}
