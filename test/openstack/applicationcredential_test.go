package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// credential is the scenario of application credentials, for the user of the credentials:
// Keystone lets no other user create them.
var credential = scenario{
	kind: "ApplicationCredential", collection: "identity/application_credentials",
	needs: []string{
		imported("User", "me", `{filter: {name: admin}}`), imported("Role", "reader", `{filter: {name: reader}}`),
		imported("Service", "compute", `{filter: {type: compute}}`),
		"\napiVersion: v1\nkind: Secret\nmetadata: {name: value}\nstringData: {value: hush}\n---",
	},
	minimal: "{userRef: me, secretRef: value}",
	full: `{name: other, description: text, userRef: me, secretRef: value, unrestricted: true, roleRefs: [reader],
  expiresAt: "2099-01-02T03:04:05Z", accessRules: [{path: /v2.1/servers, method: GET, serviceRef: compute}]}`,
}

var applicationCredentialTests = map[string]func(*testing.T){
	"ApplicationCredential logs in":         testCredentialLogsIn,
	"ApplicationCredential is immutable":    testCredentialImmutable,
	"ApplicationCredential of another user": testCredentialOfAnother,
	"ApplicationCredential of rules in use": testCredentialRuleRace,
}

func testCredentialRemoved(w *world) {
	w.t.Helper()
	credential.prepare(w)
	w.apply(manifest("ApplicationCredential", "it", "resyncPeriod: 1s, resource: "+credential.minimal))
	w.available("ApplicationCredential", "it")
	id := w.id("ApplicationCredential", "it")
	if err := w.callKeystone(http.MethodDelete, "users/"+w.id("User", "me")+"/application_credentials/"+id); err != nil {
		w.t.Fatal(err)
	}
	w.becomes("ApplicationCredential", "it", id)
	w.available("ApplicationCredential", "it")
}

// testCredentialLogsIn uses an application credential; its secret appears nowhere.
func testCredentialLogsIn(t *testing.T) {
	const secret = "tell-nobody"
	w := newWorld(t)
	credential.prepare(w)
	w.apply("\napiVersion: v1\nkind: Secret\nmetadata: {name: mine}\n---")
	w.apply(managed("ApplicationCredential", "it", "{userRef: me, secretRef: mine, roleRefs: [reader]}"))
	w.has("ApplicationCredential", "it", "Progressing", want{
		"False", "InvalidConfiguration",
		"invalid configuration creating resource: Secret mine has no key value",
	})
	w.edit("Secret", "mine", `{"stringData":{"value":"`+secret+`"}}`)
	w.available("ApplicationCredential", "it")
	w.login(fmt.Sprintf(`clouds:
  program:
    auth_type: v3applicationcredential
    auth: {auth_url: %s/identity/v3, application_credential_id: %s, application_credential_secret: %s}
`, w.cloud.URL(), w.id("ApplicationCredential", "it"), secret), "program")
	text, err := json.Marshal(w.get("ApplicationCredential", "it"))
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the object tells it: %s %v", text, err)
	}
}

func testCredentialImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("ApplicationCredential", "it", credential.minimal))
	err := w.c.Patch(t.Context(), w.get("ApplicationCredential", "it"),
		client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"resource":{"description":"new"}}}`)))
	if err == nil || !strings.Contains(err.Error(), "ApplicationCredentialResourceSpec is immutable") {
		t.Errorf("changed: %v", err)
	}
}

// testCredentialRuleRace: real Keystone says so when two credentials of a user that are
// created at once have the same access rule.
func testCredentialRuleRace(t *testing.T) {
	w := newWorld(t)
	credential.prepare(w)
	w.cloud.AddFault(emulator.Fault{
		Method: http.MethodPost, Resource: "users/application_credentials", Status: http.StatusConflict,
		Body: `{"error": {"code": 409, "title": "Conflict", "message": "Conflict occurred attempting to store ` +
			`application_credential - Duplicate entry found with name other."}}`,
	})
	w.apply(managed("ApplicationCredential", "it", credential.full))
	w.available("ApplicationCredential", "it")
	if n := w.requests(http.MethodPost, "users/application_credentials"); n != 2 {
		w.t.Errorf("%d attempts, want the one that was refused and one more", n)
	}
}

// testCredentialOfAnother: Keystone does not let an administrator create an application
// credential for another user.
func testCredentialOfAnother(t *testing.T) {
	w := newWorld(t)
	credential.prepare(w)
	w.apply(managed("User", "other", "{}"))
	w.apply(managed("ApplicationCredential", "it", "{userRef: other, secretRef: value}"))
	testenv.Eventually(t, func() error {
		progressing, _ := find(w.get("ApplicationCredential", "it"), "Progressing")
		if progressing.reason != "InvalidConfiguration" || !strings.Contains(progressing.message, "not authorized") {
			return fmt.Errorf("%+v", progressing)
		}
		return nil
	})
}
