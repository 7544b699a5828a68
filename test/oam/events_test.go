package oam_test

import (
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// told waits until an event about an application has a reason and a text.
func (w *world) told(application, reason, text string) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		var list eventsv1.EventList
		if err := w.C.List(w.T.Context(), &list, client.InNamespace(w.NS)); err != nil {
			return err
		}
		var all []string
		for _, e := range list.Items {
			if e.Regarding.Name == application && e.Reason == reason && strings.Contains(e.Note, text) {
				return nil
			}
			all = append(all, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("the events are %v, want %s: %s", all, reason, text)
	})
}

// testEvents: events tell what an application changed, and why it can't go on. Its first objects are no
// news.
func testEvents(t *testing.T) {
	w := newWorld(t)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db"))
	w.get("ApplicationConfiguration", "app", synced(""))
	w.Delete(w.blank("Bar", "db"))
	w.told("app", "AppliedComponents", "created Bar/db")
	w.write(application("app", "componentName: none"))
	w.told("app", "CannotRenderComponents", "there is no Component/none")
	w.write("apiVersion: example.com/v1\nkind: Bar\nmetadata: {name: taken}")
	w.write(bare("taken", 1))
	w.write(application("app", "componentName: taken"))
	w.told("app", "CannotApplyComponents", "existing Bar/taken is not controlled by this ApplicationConfiguration")
}
