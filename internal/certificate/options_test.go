package certificate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	got, _ := Options{}.withDefaults()
	want := []time.Duration{3650 * day, 90 * day, 30 * day, 30 * time.Second, 0}
	durations := []time.Duration{
		got.CAValidity, got.ServingValidity, got.RenewBefore, got.PropagationDelay, got.RetireAfter,
	}
	if diff := cmp.Diff(want, durations); diff != "" {
		t.Errorf("CA, serving, renew before, propagation, retire after (-want, +got):\n%s", diff)
	}
}

func TestNewNamesEveryProblemAtOnce(t *testing.T) {
	_, err := New(Options{
		ServingValidity: time.Hour, RenewBefore: time.Hour, CAValidity: time.Hour, PropagationDelay: -1,
	})
	if err == nil {
		t.Fatal("New accepts options without a client")
	}
	for _, want := range []string{
		"no client is given",
		"the Secret needs a namespace and a name",
		"no DNS name and no IP address",
		"a duration is negative",
		"RenewBefore 1h0m0s is not below ServingValidity 1h0m0s",
		"CAValidity 1h0m0s is below twice ServingValidity + RenewBefore, 4h0m0s",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q:\n%v", want, err)
		}
	}
}
