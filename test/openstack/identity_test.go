package openstack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// identities are the kinds of the identity service that have secrets.
var identities = []scenario{
	{
		kind: "User", collection: "identity/users", minimal: "{}",
		needs: []string{managed("Domain", "domain", "{}"), managed("Project", "project", "{}"), secretOf("password", "one")},
		full: `{name: other, description: text, enabled: false, domainRef: domain, defaultProjectRef: project,
  passwordRef: password}`,
	},
}

var identityTests = map[string]func(*testing.T){
	"User password follows its Secret": testPassword,
	"User password can't be removed":   testPasswordStays,
	"User password is not told":        testPasswordUntold,
	"passwords that are gone":          testForgotten,
}

// secretOf is the manifest of a Secret with a password.
func secretOf(name, password string) string {
	return fmt.Sprintf("\napiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {password: %s}\n---", name, password)
}

// client returns an administrator's client of a service of the cloud.
func (w *world) client(
	get func(*openstack.Scope, context.Context) (*gophercloud.ServiceClient, error),
) *gophercloud.ServiceClient {
	w.t.Helper()
	c, err := get(w.login(w.clouds, "openstack-admin"), w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) login(clouds, name string) *openstack.Scope {
	w.t.Helper()
	scope, err := w.tryLogin(clouds, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return scope
}

func (w *world) tryLogin(clouds, name string) (*openstack.Scope, error) {
	w.t.Helper()
	cloud, err := openstack.ParseCloud(w.secret("", clouds).Data, name)
	if err != nil {
		w.t.Fatal(err)
	}
	known := openstack.New(openstack.Options{Open: openstack.Loopback})
	w.t.Cleanup(known.Close)
	return known.Scope(w.t.Context(), cloud)
}

// userClouds is a clouds.yaml for a user of the default domain, without a scope.
func (w *world) userClouds(name, password string) string {
	return fmt.Sprintf(`clouds:
  user:
    auth: {auth_url: %s/identity/v3, username: %s, password: %s, user_domain_name: Default}
`, w.cloud.URL(), name, password)
}

func testPassword(t *testing.T) {
	w := newWorld(t)
	w.apply(secretOf("password", "first"), secretOf("other", "third"))
	w.apply(managed("User", "it", "{passwordRef: password}"))
	w.available("User", "it")
	w.login(w.userClouds("it", "first"), "user")
	if n := w.requests("PATCH", "users"); n > 0 {
		t.Errorf("%d updates of a user that was made with its password", n)
	}
	w.setPassword("password", "second")
	w.logsIn("it", "second")
	if _, err := w.tryLogin(w.userClouds("it", "first"), "user"); err == nil {
		t.Error("the old password still serves")
	}
	w.edit("User", "it", `{"spec":{"resource":{"passwordRef":"other"}}}`)
	w.logsIn("it", "third")
	w.reports("User", "it", map[string]any{"appliedPasswordRef": "other"})
	w.edit("User", "it", `{"spec":{"resource":{"description":"text"}}}`)
	w.available("User", "it")
	w.reports("User", "it", map[string]any{"appliedPasswordRef": "other", "description": "text"})
	w.settles()
	if n := w.requests("PATCH", "users"); n != 3 {
		t.Errorf("%d updates, want one for each change", n)
	}
}

// requests returns how many requests of a method a collection has got.
func (w *world) requests(method, resource string) int {
	n := 0
	for call, times := range w.cloud.Calls() {
		if call.Method == method && call.Resource == resource {
			n += times
		}
	}
	return n
}

// testForgotten: passwords do not stay in memory when they are deleted from the cluster. The
// same password in a new Secret is read, and used for a login, again.
func testForgotten(t *testing.T) {
	w := newWorld(t)
	again := 0
	before := w.requests("POST", "auth/tokens")
	testenv.Eventually(t, func() error { // The operator learns of the end of a Secret by and by.
		again++
		name := fmt.Sprintf("it%d", again)
		secret := w.secret(name, w.clouds)
		w.create(secret)
		w.apply(strings.Replace(managed("Network", name, "{}"), "secretName: cloud,", "secretName: "+name+",", 1))
		w.available("Network", name)
		w.delete("Network", name)
		w.gone("Network", name)
		w.delete("Secret", name)
		w.gone("Secret", name)
		if n := w.requests("POST", "auth/tokens") - before; n < 2 {
			return fmt.Errorf("%d logins with %d Secrets", n, again)
		}
		return nil
	})
}

func (w *world) setPassword(secret, password string) {
	w.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: secret}}
	text := fmt.Sprintf(`{"stringData":{"password":%q}}`, password)
	if err := w.c.Patch(w.t.Context(), s, client.RawPatch("application/merge-patch+json", []byte(text))); err != nil {
		w.t.Fatal(err)
	}
}

// logsIn waits until a user has a password.
func (w *world) logsIn(user, password string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		_, err := w.tryLogin(w.userClouds(user, password), "user")
		return err
	})
}

func testPasswordStays(t *testing.T) {
	w := newWorld(t)
	w.apply(secretOf("password", "first"), managed("User", "it", "{passwordRef: password}"))
	w.available("User", "it")
	err := w.c.Patch(t.Context(), w.get("User", "it"),
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"resource":{"passwordRef":null}}}`)))
	if err == nil || !strings.Contains(err.Error(), "passwordRef may not be removed once set") {
		t.Errorf("removed: %v", err)
	}
	w.apply("\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n---", managed("User", "none", "{passwordRef: empty}"))
	w.has("User", "none", "Progressing", want{
		"False", "InvalidConfiguration",
		"invalid configuration creating resource: Secret empty has no key password",
	})
	w.setPassword("empty", "here")
	w.available("User", "none")
}

// testPasswordUntold searches for a password where it must not be, after any error.
func testPasswordUntold(t *testing.T) {
	const password = "tell-nobody"
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "identity", Method: "POST", Resource: "users", Status: 400})
	w.apply(secretOf("password", password), managed("User", "it", "{passwordRef: password}"))
	w.fails("User", "it", "InvalidConfiguration")
	w.setPassword("password", password+"-2")
	w.available("User", "it")
	w.setPassword("password", password+"-3")
	w.logsIn("it", password+"-3")
	w.available("User", "it")
	text, err := json.Marshal(w.get("User", "it"))
	if err != nil || strings.Contains(string(text), password) {
		t.Errorf("the object tells it: %s %v", text, err)
	}
	var events eventsv1.EventList
	if err := w.c.List(t.Context(), &events, client.InNamespace(w.ns)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if strings.Contains(e.Note, password) {
			t.Errorf("an event tells it: %s", e.Note)
		}
	}
}

// refused returns why the API server does not take a manifest.
func (w *world) refused(text string) error {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.TrimSuffix(text, "---")), u); err != nil {
		w.t.Fatal(err)
	}
	u.SetNamespace(w.ns)
	return w.c.Create(w.t.Context(), u)
}
