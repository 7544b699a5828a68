package chaos_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestUpgrade replaces the operator by a newer operator, which runs with --install while the
// old operator still runs, and then goes back. Meanwhile, clients try to delete protected
// objects, and other objects are released. The older operator is the program in
// KINSHIP_PREVIOUS, which hack/previous.sh builds and .ci/nightly sets. Without this variable both
// are the same program, and the test covers the exchange only.
func TestUpgrade(t *testing.T) {
	newer := func() *operator.Process {
		return operator.Exec(t, "--leader-elect", "--webhook-port", strconv.Itoa(testenv.FreePort(t)))
	}
	older, previous := newer, os.Getenv("KINSHIP_PREVIOUS")
	if previous != "" {
		older = func() *operator.Process {
			return operator.ExecProgram(t, previous, "--leader-elect", "--webhook-port", strconv.Itoa(testenv.FreePort(t)))
		}
	}
	t.Logf("the older operator is %q", cmp.Or(previous, "this one"))
	before := older()
	s := newScene(t)
	released, kept := sized(30), sized(20)
	s.protect(released + kept)
	_, stop := s.attack(s.deleters(released, kept))

	for turn, start := range []func() *operator.Process{newer, older} {
		what := []string{"upgrade", "rollback"}[turn]
		from, to := turn*released/2, (turn+1)*released/2
		after := start()
		for i := range to - from {
			if i == (to-from)/2 {
				if err := before.Stop(); err != nil {
					t.Errorf("%s: the operator that was replaced: %v", what, err)
				}
				if log := before.Log(); previous == "" && strings.Contains(log, "leader election lost") {
					t.Errorf("%s: an end that was asked for is logged as an error:\n%s", what, log)
				}
			}
			if err := s.c.Delete(t.Context(), s.using(from+i)); err != nil {
				t.Fatal(err)
			}
		}
		testenv.EventuallyWithin(t, takeover+recovery, func() error {
			var left protectionv1beta1.UsageList // No watch: another definition ends all there are.
			if err := s.c.List(t.Context(), &left, client.InNamespace(s.ns)); err != nil {
				return err
			}
			if got := released + kept - len(left.Items); got < to {
				return fmt.Errorf("%s: %d of %d Usages are gone", what, got, to)
			}
			return nil
		})
		before = after
	}
	answers := stop() // It fails the test after any deletion.
	t.Logf("deletions in the meantime were answered: %s", answers)
	s.allReady(kept)
	if got := len(s.locked()); got != kept {
		t.Errorf("%d ConfigMaps are locked, want %d", got, kept)
	}
	storedAsServed(t, s.c)
}

// storedAsServed expects that nothing is stored in a version that is not served
// any more: such objects could not be read after the next upgrade.
func storedAsServed(t *testing.T, c client.Client) {
	t.Helper()
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(t.Context(), &crds); err != nil {
		t.Fatal(err)
	}
	for i := range crds.Items {
		for _, stored := range crds.Items[i].Status.StoredVersions {
			isServed := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored && v.Served }
			if !slices.ContainsFunc(crds.Items[i].Spec.Versions, isServed) {
				t.Errorf("%s has objects in version %s, which is not served", crds.Items[i].Name, stored)
			}
		}
	}
}
