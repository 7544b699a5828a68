package chaos_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	// timeout is the timeoutSeconds of our webhooks. With an operator that hangs, a request
	// takes at least this long, and is refused in any case.
	timeout = 3 * time.Second
	// patience is timeout and the time for the rest of a request on a busy machine. It is too
	// short for two webhooks one after the other.
	patience = 2 * timeout
)

// TestDown shows the effects of an operator that does not run, or that hangs: protected objects
// can't be deleted and Usages can't be changed. Nothing else is affected, and all work is done
// as soon as an operator runs again.
func TestDown(t *testing.T) {
	for _, how := range []string{"killed", "frozen"} {
		t.Run(how, func(t *testing.T) {
			o := operator.Exec(t)
			s := newScene(t)
			s.protect(1)
			thaw := func() { operator.Exec(t) }
			if how == "killed" {
				o.Kill()
			} else {
				thaw = freeze(t, send(o, syscall.SIGSTOP), send(o, syscall.SIGCONT))
			}
			s.checkRefused()
			s.checkUnaffected()
			thaw()
			testenv.EventuallyWithin(t, recovery, func() error {
				err := s.c.Delete(t.Context(), s.used(0))
				if apierrors.IsConflict(err) {
					return nil
				}
				return err
			})
			s.create(s.usage(1))
			if err := s.c.Delete(t.Context(), s.using(0)); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, func() error { return s.c.Delete(t.Context(), s.used(0)) })
		})
	}
}

// freeze stops a process until thaw is called. Some machines continue stopped processes, so
// freeze repeats the signal.
func freeze(t *testing.T, stop, resume func() error) (thaw func()) {
	t.Helper()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var insisting sync.WaitGroup
	insisting.Go(func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			_ = stop()
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	thaw = sync.OnceFunc(func() {
		cancel()
		insisting.Wait()
		if err := resume(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(thaw) // A frozen process does not get SIGTERM.
	return thaw
}

func send(o *operator.Process, signal syscall.Signal) func() error {
	return func() error { return syscall.Kill(o.PID(), signal) }
}

// checkRefused tries to delete protected objects, and to create and change Usages, which no
// webhook can check. All requests run in parallel: each may take the webhook's timeout.
func (s scene) checkRefused() {
	s.t.Helper()
	ctx := s.t.Context()
	other := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"of":{"resourceRef":{"name":"other"}}}}`))
	ways := map[string]func() error{
		"delete":  func() error { return s.c.Delete(ctx, s.used(0)) },
		"dry run": func() error { return s.c.Delete(ctx, s.used(0), client.DryRunAll) },
		"delete all": func() error {
			return s.c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(s.ns), client.HasLabels{lockLabel})
		},
		"create a Usage": func() error { return s.c.Create(ctx, s.usage(1)) },
		"change a Usage": func() error { return s.c.Patch(ctx, s.usage(0), other) },
	}
	var trying sync.WaitGroup
	for name, try := range ways {
		trying.Go(func() {
			start := time.Now()
			if err := try(); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook") {
				s.t.Errorf("%s: %v, want a refusal because the webhook can't be asked", name, err)
			} else if asked := "?timeout=" + timeout.String(); !strings.Contains(err.Error(), asked) {
				s.t.Errorf("%s: %v, want the webhook to be called with %s", name, err, asked)
			}
			if took := time.Since(start); took > patience {
				s.t.Errorf("%s was answered after %s, want less than %s", name, took, patience)
			}
		})
	}
	trying.Wait()
	if err := s.c.Get(ctx, client.ObjectKeyFromObject(s.used(0)), &corev1.ConfigMap{}); err != nil {
		s.t.Errorf("the protected object: %v", err)
	}
}

// checkUnaffected sends requests that do not concern us, and expects quick answers.
func (s scene) checkUnaffected() {
	s.t.Helper()
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`))
	free, other := s.used(7), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "other-"}}
	steps := []struct {
		name string
		do   func() error
	}{
		{"create", func() error { return s.c.Create(s.t.Context(), free) }},
		{"change", func() error { return s.c.Patch(s.t.Context(), free, label) }},
		{"delete", func() error { return s.c.Delete(s.t.Context(), free) }},
		{"change a protected object", func() error { return s.c.Patch(s.t.Context(), s.used(0), label) }},
		{"change a using object", func() error { return s.c.Patch(s.t.Context(), s.using(0), label) }},
		{"create a namespace", func() error { return s.c.Create(s.t.Context(), other) }},
		{"delete a namespace", func() error { return s.c.Delete(s.t.Context(), other) }},
		{"delete a collection", func() error {
			return s.c.DeleteAllOf(s.t.Context(), &corev1.Service{}, client.InNamespace(s.ns))
		}},
	}
	for _, step := range steps {
		start := time.Now()
		if err := step.do(); err != nil {
			s.t.Errorf("%s: %v", step.name, err)
		}
		if took := time.Since(start); took > timeout {
			s.t.Errorf("%s took %s: did it wait for the operator?", step.name, took)
		}
	}
}
