package security_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
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

// TestWithdrawByRole: a user with Kubernetes' ClusterRole edit or admin can do what the refusal says. A user with the
// right to delete the object alone is told which right is missing. None of them may write anything else into a status.
func TestWithdrawByRole(t *testing.T) {
	operator.Start(t)
	l, used, u := replaying(t)
	bare := l.user("bare")
	l.allow(bare, right("", "configmaps", "get", "delete"))
	if err := l.As(bare).Delete(t.Context(), used); !apierrors.IsConflict(err) ||
		!strings.Contains(err.Error(), "which needs the verb patch on usages/status") {
		t.Errorf("a user without the right is told: %v", err)
	}
	if code, said := l.withdraw(""); code != 0 { // By an administrator.
		t.Fatal(said)
	}
	for _, role := range []string{"edit", "admin"} {
		user := l.user(role)
		l.Create(&rbacv1.RoleBinding{
			ObjectMeta: l.named(role), Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})
		l.awaitRights(user, true, right(usageGroup, "usages/status", "patch"), right(usageGroup, "usages", "list"))
		testenv.Eventually(t, func() error { // A cache that is late has the deletion on record still.
			err := l.As(user).Delete(t.Context(), used)
			if !apierrors.IsConflict(err) || strings.Contains(err.Error(), "which needs") {
				t.Errorf("%s: the refusal says %v", role, err)
			}
			if code, said := l.withdraw(user); code != 0 {
				return fmt.Errorf("%s: withdraw: code %d, %s", role, code, said)
			}
			return nil
		})
		l.checkRecorded(u, 0)
		forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[]}}`))
		if err := l.As(user).Status().Patch(t.Context(), u.DeepCopy(), forged); !apierrors.IsForbidden(err) {
			t.Errorf("%s writes the status: %v", role, err)
		}
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
