package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/net/http2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlrecorder "sigs.k8s.io/controller-runtime/pkg/recorder"
)

// TestWithoutRoutine: messages about each controller are left out, unless the log is verbose, and other
// messages keep their levels.
func TestWithoutRoutine(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo: "INFO Ready, WARN Trouble, ERROR Failed, ERROR " + brokenOff + ", ERROR Missing",
		slog.LevelDebug: "DEBUG+3 Starting Controller, INFO Ready, WARN Trouble, ERROR Failed, " +
			"DEBUG+3 Ends, DEBUG+3 " + brokenOff + ", DEBUG+3 " + brokenOff + ", ERROR " + brokenOff + ", " +
			"DEBUG+3 Server rejected event (will not retry!), ERROR Missing, DEBUG+3 Detail",
	} {
		var text bytes.Buffer
		handler := slog.NewTextHandler(&text, &slog.HandlerOptions{Level: level})
		log := QuietEnd(WithoutRoutine(logr.FromSlogHandler(handler)), make(chan struct{})).WithValues("pack", "usage")
		log.WithName("a").Info("Starting Controller")
		log.Info("Ready")
		Warn(log, "Trouble")
		log.Error(nil, "Failed")
		ending := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", errors.New("it ends"))
		ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		log.Error(fmt.Errorf("create event: %w", ending), "Ends")
		log.Error(http2.StreamError{Code: http2.ErrCodeCancel}, brokenOff)
		log.Error(errors.New("client disconnected"), brokenOff)
		log.Error(errors.New("too large"), brokenOff)
		log.Error(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "gone"), rejectedEvent)
		log.Error(apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "gone"), "Missing")
		log.V(1).Info("Detail")
		var got []string
		for line := range strings.Lines(text.String()) {
			_, line, _ = strings.Cut(line, "level=")
			severity, line, _ := strings.Cut(line, " msg=")
			line, _, _ = strings.Cut(line, " pack=usage")
			got = append(got, severity+" "+strings.Trim(line, `"`))
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("at level %s the log has %s, want %s", level, all, want)
		}
	}
}

// silent is a recorder of events that records none.
type silent struct{ ctrlrecorder.EventRecorder }

// Eventf implements events.EventRecorder.
func (silent) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

// TestEventLog: an event is one line of the log, with the pack, the object and the change.
func TestEventLog(t *testing.T) {
	var text bytes.Buffer
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(&text, nil)).WithValues("pack", "usage")
	e := eventLog{silent{}, scheme, log}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}
	e.Eventf(secret, nil, corev1.EventTypeNormal, "Created", "Create", "resource %s was created", "id")
	ref := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	e.Eventf(ref, secret, corev1.EventTypeWarning, "Failed", "Create", "no")
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	wants := []string{
		`level=INFO msg=Created pack=usage object="Secret/db in namespace shop" message="resource id was created"`,
		`level=WARN msg=Failed pack=usage object="Deployment.apps/web in namespace shop" message=no ` +
			`related="Secret/db in namespace shop"`,
	}
	for i, want := range wants {
		if len(lines) != len(wants) || !strings.HasSuffix(lines[i], want) {
			t.Errorf("the log has\n%s\nwant in line %d\n%s", &text, i+1, want)
		}
	}
}
