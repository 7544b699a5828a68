package azure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// secret is a Secret with text keys.
func (w *world) secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}, StringData: data}
}

// sqlServer is a SQL server whose password is in the Secret sql.
func sqlServer(name string) string {
	return manifest("sql", name, "rg", "location: westeurope, administratorLogin: boss, "+
		"administratorLoginPassword: {name: sql, key: password}")
}

// sent returns the password that the cloud has of a SQL server.
func (w *world) sent(name string) any {
	w.T.Helper()
	password, _, _ := unstructured.NestedFieldNoCopy(w.cloud.Sent(w.id("sql/"+name)), "properties",
		"administratorLoginPassword")
	return password
}

// hides fails if an object in the API server contains a text.
func (w *world) hides(one, text string) {
	w.T.Helper()
	kind, name := split(one)
	shown, err := json.Marshal(w.get(kind, name))
	if err != nil {
		w.T.Fatal(err)
	}
	if strings.Contains(string(shown), text) {
		w.T.Errorf("%s shows %s: %s", one, text, shown)
	}
}

// TestSecretValues: an object waits for the Secret in a sensitive field, and for the key. The value reaches the cloud
// once, and nothing that a user sees. A new value is sent; a label on the Secret is not. The Secret is kept while the
// object needs it.
func TestSecretValues(t *testing.T) {
	for _, submission := range []packazure.Submission{packazure.ByPut, packazure.ByDeployment} {
		t.Run(string(submission), func(t *testing.T) {
			w := newCloud(t, atOnce)
			w.submission = submission
			w.start()
			w.apply(group("rg"), sqlServer("db"))
			w.says("sql/db", "False WaitingForReference Waiting for Secret/sql to be created")
			secret := w.secret("sql", map[string]string{"user": "boss"})
			w.Create(secret)
			w.says("sql/db",
				"False WaitingForReference Waiting for Secret/sql to have the key password (spec.administratorLoginPassword)")
			w.Update(secret, func() { secret.StringData = map[string]string{"password": "[hunter2]"} })
			w.ready("sql/db")
			if diff := cmp.Diff("[hunter2]", w.sent("db")); diff != "" {
				t.Errorf("(-want +sent):\n%s", diff)
			}
			w.hides("sql/db", "hunter2")
			puts := w.calls("PUT", "sql")
			w.Update(secret, func() { secret.Labels = map[string]string{"a": "b"} })
			w.edit("sql/db", `{"spec":{"tags":{"a":"b"}}}`)
			w.ready("sql/db")
			if n := w.calls("PUT", "sql"); submission == packazure.ByPut && n != puts+1 {
				t.Errorf("%d PUTs, want %d", n, puts+1)
			}
			w.Update(secret, func() { secret.StringData = map[string]string{"password": "correct horse"} })
			testenv.Eventually(t, func() error {
				if got := w.sent("db"); got != "correct horse" {
					return fmt.Errorf("the cloud has the password %v", got)
				}
				return nil
			})
			w.ready("sql/db")
			w.hides("sql/db", "correct horse")
			w.Delete(secret)
			if err := w.Read(secret); err != nil || secret.DeletionTimestamp == nil {
				t.Errorf("the Secret is not kept: %v", err)
			}
			w.delete("sql/db")
			w.gone("sql/db")
			w.Gone(secret)
		})
	}
}

// TestEchoedSecret: a cloud repeats a password in the text of an error, at once or at the end of an operation. Neither
// the object nor an event shows the password.
func TestEchoedSecret(t *testing.T) {
	w := newCloud(t, cloudOptions)
	w.tolerated = []emulator.Reason{emulator.Ordered, emulator.NoOwner}
	w.start()
	w.Create(w.secret("sql", map[string]string{"password": "hunter2"}))
	w.cloud.AddFault(emulator.Fault{
		Method: "PUT", Type: kindOf("sql").Type, Status: 400, Code: "PasswordNotComplex", Times: -1,
		Message: "the password 'hunter2' is too simple",
	})
	w.cloud.AddFault(emulator.Fault{
		Method: "PUT", Type: kindOf("vmss").Type, Fails: true, Code: "PasswordNotComplex", Times: -1,
		Message: "the password hunter2 is too simple",
	})
	w.apply(group("rg"), sqlServer("db"), manifest("vmss", "web", "rg", "location: westeurope, virtualMachineProfile: "+
		"{osProfile: {computerNamePrefix: web, adminUsername: boss, adminPassword: {name: sql, key: password}}}"))
	w.says("sql/db", "the password '[withheld]' is too simple")
	w.says("vmss/web", "the password [withheld] is too simple")
	w.hides("sql/db", "hunter2")
	w.hides("vmss/web", "hunter2")
	events := &corev1.EventList{}
	if err := w.C.List(t.Context(), events, client.InNamespace(w.NS)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, "hunter2") {
			t.Errorf("an event tells the password: %s", e.Message)
		}
	}
}

// TestEchoedFormerSecret: an operation that fails with the text of a password ends after the password was changed.
// Nobody ever sees the former password, and the new one is sent.
func TestEchoedFormerSecret(t *testing.T) {
	w := newCloud(t, cloudOptions)
	w.tolerated = []emulator.Reason{emulator.Ordered}
	w.start()
	secret := w.secret("sql", map[string]string{"password": "hunter2"})
	w.Create(secret)
	w.apply(group("rg"))
	w.ready("rg/rg")
	w.cloud.AddFault(emulator.Fault{
		Method: "PUT", Type: kindOf("vmss").Type, Fails: true, Code: "PasswordNotComplex",
		Message: "the password hunter2 is too simple",
	})
	w.cloud.AddFault(emulator.Fault{Type: "operation", Status: 503, Code: "ServerBusy", Times: -1})
	watched := testenv.WatchVersions(t, w.C, kindOf("vmss").GroupVersionKind(), w.NS, "web")
	w.apply(manifest("vmss", "web", "rg", "location: westeurope, virtualMachineProfile: "+
		"{osProfile: {computerNamePrefix: web, adminUsername: boss, adminPassword: {name: sql, key: password}}}"))
	testenv.Eventually(t, func() error {
		if w.calls("PUT", "vmss") == 0 {
			return errors.New("no PUT was sent")
		}
		return nil
	})
	w.Update(secret, func() { secret.StringData = map[string]string{"password": "correct horse"} })
	w.cloud.ClearFaults()
	w.ready("vmss/web")
	sent, _, _ := unstructured.NestedString(w.cloud.Sent(w.id("vmss/web")), "properties", "virtualMachineProfile",
		"osProfile", "adminPassword")
	if sent != "correct horse" {
		t.Errorf("the cloud has the password %q", sent)
	}
	w.delete("vmss/web")
	for _, version := range watched.UntilDeleted() {
		text, err := json.Marshal(version)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "correct horse") {
			t.Errorf("a password is in %s", text)
		}
	}
}

// TestSecretsOfAuthor: an author names a Secret in a sensitive field only if the author may get or use the Secret, in
// each such field: at the top, in a list, and in a map.
func TestSecretsOfAuthor(t *testing.T) {
	w := newPromptWorld(t)
	w.Create(w.secret("theirs", map[string]string{"password": "hunter2"}))
	theirs := map[string]any{"name": "theirs", "key": "password"}
	rules := make([]rbacv1.PolicyRule, 0, 4)
	for _, kind := range []string{"sql", "containers", "job"} {
		rules = append(rules, right(kindOf(kind).Group, "*", "*"))
	}
	stranger := w.User("stranger", rules...)
	author := w.User("author", append(rules, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"theirs"}, Verbs: []string{"use"},
	})...)
	for name, c := range map[string]struct {
		kind string
		spec map[string]any
	}{
		"at the top": {"sql", map[string]any{"administratorLoginPassword": theirs}},
		"in a list": {"containers", map[string]any{
			"imageRegistryCredentials": []any{map[string]any{"server": "a"}, map[string]any{"server": "b", "password": theirs}},
		}},
		"in a list of lists": {"containers", map[string]any{"containers": []any{map[string]any{
			"name": "c", "environmentVariables": []any{map[string]any{"name": "e", "secureValue": theirs}},
		}}}},
		"in a map": {"job", map[string]any{"details": map[string]any{"importDiskDetailsCollection": map[string]any{
			"a": map[string]any{}, "b": map[string]any{"bitLockerKey": theirs},
		}}}},
	} {
		t.Run(name, func(t *testing.T) {
			blank := func() client.Object {
				u := w.blank(c.kind, "stolen")
				c.spec["ownerRef"] = map[string]any{"kubernetes": map[string]any{"name": "rg"}}
				u.Object["spec"] = c.spec
				return u
			}
			testenv.Eventually(t, func() error { // The API server learns of policies by a watch.
				err := stranger.Create(t.Context(), blank(), client.DryRunAll)
				want := "the spec names in namespace " + w.NS + " Secret theirs; you may neither get nor use one"
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
					return fmt.Errorf("creation by a stranger: %w", err)
				}
				return nil
			})
			testenv.Eventually(t, func() error { return author.Create(t.Context(), blank(), client.DryRunAll) })
		})
	}
}
