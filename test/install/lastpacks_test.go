package install_test

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinship-dev/kinship/internal/identity"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestLastPacks: an operator for which nobody chooses packs runs those of the last installation. A first installation
// is deletion protection alone.
func TestLastPacks(t *testing.T) {
	removeAll(t)
	expect := func(reason string, want ...string) {
		t.Helper()
		got, err := install.LastPacks(t.Context(), operator.Client(t))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: packs %v, want %v, %v", reason, got, want, err)
		}
	}
	expect("nothing is installed", "usage")
	for _, packs := range [][]string{{"iot", "oam"}, {"usage", "iot", "oam"}, {"oam"}} {
		o := optionsFor(t)
		o.Packs = packs
		if err := install.Install(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		expect("after an installation", packs...)
		own, err := identity.As(t.Context(), o.Config, options.Account)
		if err != nil {
			t.Fatal(err)
		}
		// The account of the process may not read accounts. An operator in the cluster is such an account.
		limited, err := options.NewClient(options.Options{}, own)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := install.LastPacks(t.Context(), limited); !apierrors.IsForbidden(err) {
			t.Errorf("the account of the process reads packs %v, %v", got, err)
		}
		there, err := identity.Installed(t.Context(), own)
		if err != nil || !containsAll(there, packs) {
			t.Errorf("the account of the process finds packs %v, want %v, %v", there, packs, err)
		}
	}
	removeAll(t)
	expect("everything was removed", options.FirstPacks()...)
}

func containsAll(list, parts []string) bool {
	return !slices.ContainsFunc(parts, func(one string) bool { return !slices.Contains(list, one) })
}

// TestFirstPacks starts `kinship operator --install` without --packs in an empty cluster.
func TestFirstPacks(t *testing.T) {
	removeAll(t)
	p := operator.ExecArgs(t, "operator", "--kubeconfig", testenv.Kubeconfig(t), "--install",
		"--webhook-host", "127.0.0.1", "--leader-elect=false", "--metrics-bind-address", "0")
	got, err := install.InstalledPacks(t.Context(), operator.Client(t), options.PackNames())
	if err != nil || !slices.Equal(got, options.FirstPacks()) {
		t.Errorf("packs %v are installed, want %v, %v", got, options.FirstPacks(), err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}
