package security_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// withdraw runs the command in a user's name, or in the administrator's.
func (l land) withdraw(user string) (code int, said string) {
	l.T.Helper()
	var out bytes.Buffer
	args := []string{"kinship", "withdraw", "ConfigMap", "used", "-n", l.NS, "--kubeconfig", testenv.Kubeconfig(l.T)}
	if user != "" {
		args = append(args, "--as", user)
	}
	code = cli.Main(l.T.Context(), "test", args, nil, &out, &out)
	return code, out.String()
}

// checkRecorded checks how many refused deletions are on record. A deletion is recorded once an echo has proven that
// the API server has sent its review.
func (l land) checkRecorded(u *protectionv1beta1.Usage, want int) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error {
		if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if got := len(u.Status.Refused); got != want {
			return fmt.Errorf("%d refused deletions are on record, want %d", got, want)
		}
		return nil
	})
}

// TestWithdraw: who is refused a deletion hears that it will be carried out, until when, and
// how to withdraw it. He may do so, and nobody else without the verb override.
func TestWithdraw(t *testing.T) {
	operator.Start(t)
	l, used, u := replaying(t)
	user, other, third := l.user("user"), l.user("other"), l.user("third")
	for _, one := range []string{user, other, third} {
		l.allow(one, right("", "configmaps", "get", "delete"), right(usageGroup, "usages", "get", "list"),
			right(usageGroup, "usages/status", "patch"))
	}
	l.allow(third, right(usageGroup, "usages", "override"))
	refused := func() string {
		t.Helper()
		err := l.As(user).Delete(t.Context(), used)
		if !apierrors.IsConflict(err) {
			t.Fatalf("deletion: %v, want a conflict", err)
		}
		return err.Error()
	}
	for range 2 { // A repeated refusal writes nothing, and says the same.
		text := refused()
		l.checkRecorded(u, 1)
		until := u.Status.Refused[0].Time.Add(24 * time.Hour).UTC().Format(time.RFC3339)
		for _, word := range []string{
			"The resource is used by 1 resource(s): Secret/using (Usage usage in namespace " + l.NS + "). The deletion ",
			"recorded",
			user, until, "kubectl kinship withdraw ConfigMap used -n " + l.NS,
		} {
			if !strings.Contains(text, word) {
				t.Errorf("the refusal does not say %q: %s", word, text)
			}
		}
	}
	if code, said := l.withdraw(other); code == 0 || !strings.Contains(said, "override") {
		t.Errorf("somebody else withdraws it: code %d, %s", code, said)
	}
	l.checkRecorded(u, 1)
	if code, said := l.withdraw(user); code != 0 || !strings.Contains(said, user) {
		t.Errorf("withdraw: code %d, %s", code, said)
	}
	l.checkRecorded(u, 0)
	if code, said := l.withdraw(user); code == 0 || !strings.Contains(said, "no deletion of") {
		t.Errorf("withdraw what is not on record: code %d, %s", code, said)
	}
	for _, by := range []string{third, ""} {
		testenv.Eventually(t, func() error { // A cache that is late has the deletion on record still.
			refused()
			if code, said := l.withdraw(by); code != 0 {
				return fmt.Errorf("with the verb override %q can't withdraw: code %d, %s", by, code, said)
			}
			return nil
		})
		l.checkRecorded(u, 0)
	}
	l.release(u)
	l.Exists(used)
}

// TestRefusalWithoutReplay: what is not recorded is not said to be.
func TestRefusalWithoutReplay(t *testing.T) {
	operator.Start(t)
	l := newLand(t)
	used, u := l.configMap("used"), l.usage("usage")
	l.Create(used, l.secret("using"), u)
	l.awaitReady(u)
	err := l.C.Delete(t.Context(), used)
	if !apierrors.IsConflict(err) || strings.Contains(err.Error(), "record") || strings.Contains(err.Error(), "withdraw") {
		t.Errorf("deletion: %v, want a conflict that says nothing of a record", err)
	}
	l.release(u)
}
