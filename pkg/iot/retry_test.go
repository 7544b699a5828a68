package iot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	connectors   = schema.GroupResource{Resource: "iotconnectors"}
	errConflict  = apierrors.NewConflict(connectors, "clinic", errors.New("changed"))
	errForbidden = apierrors.NewForbidden(connectors, "clinic", errors.New("no right"))
	errAway      = apierrors.NewServiceUnavailable("away")
)

// TestPassing: a request is repeated as long as time may help, and no longer.
func TestPassing(t *testing.T) {
	kind := schema.GroupKind{Kind: "IotConnector"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a conflict":              {errConflict, true},
		"a conflict, wrapped":     {fmt.Errorf("update: %w", errConflict), true},
		"the server is away":      {errAway, true},
		"too many requests":       {apierrors.NewTooManyRequests("slow down", 1), true},
		"a timeout of the server": {apierrors.NewServerTimeout(connectors, "update", 1), true},
		"a timeout":               {apierrors.NewTimeoutError("slow", 1), true},
		"an internal error":       {apierrors.NewInternalError(errors.New("etcd")), true},
		"a broken connection":     {io.ErrUnexpectedEOF, true},
		"forbidden":               {errForbidden, false},
		"not found":               {apierrors.NewNotFound(connectors, "clinic"), false},
		"not valid":               {apierrors.NewInvalid(kind, "clinic", nil), false},
		"a bad request":           {apierrors.NewBadRequest("no"), false},
		"no entry":                {fmt.Errorf("deployment a: %w", ErrNotFound), false},
		"an invalid entry":        {&InvalidError{Connector: "clinic", Problem: errors.New("no")}, false},
		"no such kind":            {&meta.NoKindMatchError{GroupKind: kind}, false},
		"no such Go type":         {runtime.NewNotRegisteredErrForKind("scheme", kind.WithVersion("v1")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := passing(c.err); got != c.want {
				t.Errorf("passing is %t for %v", got, c.err)
			}
		})
	}
}

// TestTyped: errors.Is finds the error of the package and the answer of the API server.
func TestTyped(t *testing.T) {
	notFound := apierrors.NewNotFound(connectors, "clinic")
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "IotConnector"}, "clinic", nil)
	for name, c := range map[string]struct{ err, is error }{
		"not found":     {notFound, ErrNotFound},
		"not valid":     {invalid, ErrInvalid},
		"a bad request": {apierrors.NewBadRequest("no"), ErrInvalid},
	} {
		got := typed("clinic", c.err)
		if !errors.Is(got, c.is) || !errors.Is(got, c.err) || !strings.HasPrefix(got.Error(), "IotConnector clinic: ") {
			t.Errorf("%s: %v, want %v", name, got, c.is)
		}
	}
	if got := typed("clinic", errForbidden); !errors.Is(got, errForbidden) || errors.Is(got, ErrInvalid) {
		t.Errorf("forbidden: %v", got)
	}
	if typed("clinic", nil) != nil {
		t.Error("no error became one")
	}
}

// TestRetry: the error says why the last attempt before Provider.Deadline failed.
func TestRetry(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		deadline time.Duration
		answers  []error // The last answer is repeated.
		takes    time.Duration
		is       []error
		isNot    error
		attempts int // Zero means more than one.
	}{
		"at once":   {"nothing is to be repeated", 0, []error{nil}, 0, nil, nil, 1},
		"after two": {"the third attempt succeeds", 0, []error{errConflict, errAway, nil}, 0, nil, nil, 3},
		"forbidden": {"another attempt needs a right", 0, []error{errForbidden}, 0, []error{errForbidden}, nil, 1},
		"forbidden later": {
			"a right may be withdrawn meanwhile", 0,
			[]error{errConflict, errForbidden},
			0,
			[]error{errForbidden},
			ErrConflictExhausted, 2,
		},
		"always a conflict": {
			"others kept changing the IotConnector", time.Minute,
			[]error{errConflict},
			time.Minute,
			[]error{ErrConflictExhausted, errConflict},
			nil, 0,
		},
		"always away": {
			"nobody changed the IotConnector", time.Minute,
			[]error{errConflict, errAway},
			time.Minute,
			[]error{context.DeadlineExceeded, errAway},
			ErrConflictExhausted, 0,
		},
		"the default": {
			"Provider.Deadline is zero", 0,
			[]error{errConflict},
			DefaultDeadline,
			[]error{ErrConflictExhausted},
			nil, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, attempts := time.Now(), 0
				err := Provider{Deadline: c.deadline}.retry(t.Context(), "clinic", func(context.Context) error {
					attempts++
					return c.answers[min(attempts, len(c.answers))-1]
				})
				if len(c.is) == 0 && err != nil {
					t.Errorf("%s: %v", c.reason, err)
				}
				for _, want := range c.is {
					if !errors.Is(err, want) {
						t.Errorf("%s: %v, want %v", c.reason, err, want)
					}
				}
				if c.isNot != nil && errors.Is(err, c.isNot) {
					t.Errorf("%s: %v is a %v", c.reason, err, c.isNot)
				}
				if attempts != c.attempts && (c.attempts != 0 || attempts < 2) {
					t.Errorf("%s: %d attempts, want %d", c.reason, attempts, c.attempts)
				}
				if took := time.Since(begin); c.takes != 0 && took != c.takes {
					t.Errorf("%s: gave up after %s, want %s", c.reason, took, c.takes)
				}
			})
		})
	}
}

// TestRetryInterrupted: an attempt that the deadline interrupts says nothing; the attempt before does.
func TestRetryInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		err := Provider{Deadline: time.Hour}.retry(t.Context(), "clinic", func(ctx context.Context) error {
			if attempts++; attempts == 1 {
				return errConflict
			}
			<-ctx.Done()
			return ctx.Err()
		})
		const want = "IotConnector clinic: others kept changing it for 1h0m0s: "
		if !errors.Is(err, ErrConflictExhausted) || !strings.HasPrefix(err.Error(), want) || attempts != 2 {
			t.Errorf("%d attempts, error %v, want %s", attempts, err, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := Provider{Deadline: time.Hour}.retry(ctx, "clinic", func(context.Context) error {
			cancel()
			return errAway
		})
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errAway) {
			t.Errorf("a caller that stops gets %v", err)
		}
	})
}

// TestPauses: no pause is longer than firstPause, and the pauses of a client that lost often are short.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		_ = Provider{Deadline: time.Hour}.retry(t.Context(), "clinic", func(context.Context) error {
			at = append(at, time.Now())
			return errConflict
		})
		// A bound of 2 s shrinks to 0.5 s in eight steps; the mean of the later pauses is half their bound.
		if least := int(time.Hour / lastPause); len(at) < least {
			t.Fatalf("%d attempts in an hour, want at least %d", len(at), least)
		}
		for i := 1; i < len(at); i++ {
			bound := firstPause
			if i > 8 {
				bound = lastPause
			}
			if pause := at[i].Sub(at[i-1]); pause >= bound {
				t.Fatalf("pause %d is %s, want less than %s", i, pause, bound)
			}
		}
	})
}
