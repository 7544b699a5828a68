package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate reconcile.Gate
		if err := gate.Wait(t.Context()); err != nil {
			t.Errorf("the zero value is not open: %v", err)
		}
		gate.Close()
		gate.Close() // Again changes nothing.
		passed := make(chan error, 1)
		go func() { passed <- gate.Wait(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-passed:
			t.Errorf("a closed gate lets on: %v", err)
		default:
		}
		gate.Open()
		if err := <-passed; err != nil {
			t.Errorf("an opened gate does not let on: %v", err)
		}
		gate.Open()
		gate.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := gate.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a closed gate holds up who is to end: %v", err)
		}
	})
}
