package azure_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/external"
)

// principal is a Secret with a service principal in a subscription.
func (w *world) principal(name, subscription string) *corev1.Secret {
	const guid = "aaaaaaaa-2222-3333-4444-555555555555"
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}, StringData: map[string]string{
			"AZURE_TENANT_ID": guid, "AZURE_CLIENT_ID": guid, "AZURE_SUBSCRIPTION_ID": subscription,
			"AZURE_CLIENT_SECRET": "none",
		},
	}
}

func right(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}

// TestCredentialsOfAuthor: an author names a Secret with credentials only if the author may get or use the
// Secret. The operator acts with these credentials, and keeps the Secret until it needs it no longer.
func TestCredentialsOfAuthor(t *testing.T) {
	w := newPromptWorld(t)
	const theirs = "bbbbbbbb-2222-3333-4444-555555555555"
	w.Create(w.principal("login", theirs))
	groups := right(kindOf("rg").Group, "*", "*")
	blank := func(name string) client.Object {
		u := w.blank("rg", name)
		u.Object["spec"] = map[string]any{
			"location": "westeurope", "credentialsRef": map[string]any{"secretName": "login"},
		}
		return u
	}
	stranger := w.User("stranger", groups)
	testenv.Eventually(t, func() error { // The API server learns of policies by a watch.
		err := stranger.Create(t.Context(), blank("stolen"), client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "you may neither get nor use it") {
			return fmt.Errorf("creation by a stranger: %w", err)
		}
		return nil
	})
	author := w.User("author", groups, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"login"}, Verbs: []string{"use"},
	})
	testenv.Eventually(t, func() error { return author.Create(t.Context(), blank("rg")) })
	w.ready("rg/rg")
	if got := w.id("rg/rg").Subscription(); got != theirs {
		t.Errorf("the group is in subscription %s, want %s", got, theirs)
	}
	change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"tags":{"by":"stranger"}}}`))
	if err := stranger.Patch(t.Context(), w.blank("rg", "rg"), change); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger changed what the credentials do: %v", err)
	}
	secret := w.principal("login", theirs)
	w.Delete(secret)
	if err := w.Read(secret); err != nil || secret.DeletionTimestamp == nil {
		t.Errorf("the Secret is not kept for the deletion of the group: %v", err)
	}
	w.delete("rg/rg")
	w.gone("rg/rg")
	w.Gone(secret)
	w.inCloud()
}

// TestStatusIsTheOperators: a tenant with all rights in the namespace can't write a status, such as
// the id of the resource that the operator is to delete.
func TestStatusIsTheOperators(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"))
	w.ready("rg/rg")
	tenant := w.User("tenant", right("*", "*", "*"))
	forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"id":"/subscriptions/x"}}`))
	testenv.Eventually(t, func() error {
		err := tenant.Status().Patch(t.Context(), w.blank("rg", "rg"), forged, client.DryRunAll)
		switch {
		case err == nil:
			return errors.New("a tenant may write the status")
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only Kinship may write"):
			return fmt.Errorf("refused with other words: %w", err)
		}
		return nil
	})
}

// TestForgedIntent: an operation that somebody with all rights wrote into the intent of an object is not carried
// on if it is not one on the object's resource. A deployment would be deleted at its end.
func TestForgedIntent(t *testing.T) {
	w := newWorld(t)
	w.apply(group("rg"))
	w.ready("rg/rg")
	theirs := w.id("rg/rg").String() + "/providers/Microsoft.Resources/deployments/theirs"
	w.exists(theirs, "2021-04-01", map[string]any{"properties": map[string]any{
		"mode": "Incremental", "template": map[string]any{
			"$schema":        "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
			"contentVersion": "1.0.0.0", "resources": []any{map[string]any{
				"type": "Microsoft.Network/routeTables", "apiVersion": "2020-03-01", "name": "table", "location": "westeurope",
			}},
		},
	}})
	w.apply(vnet("net", "later"))
	w.says("vnet/net", "WaitingForOwner")
	id, err := azure.ParseID(theirs)
	if err != nil {
		t.Fatal(err)
	}
	token, err := azure.Operation{Style: azure.OfResource, Method: "PUT", ID: id, Version: "2021-04-01"}.Token(4096)
	if err != nil {
		t.Fatal(err)
	}
	intent, err := json.Marshal(map[string]any{
		"uid": w.get("vnet", "net").GetUID(), "name": "net", "operation": token,
		"place": "/subscriptions/" + w.subscription + "/resourceGroups/later",
	})
	if err != nil {
		t.Fatal(err)
	}
	forged, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		external.IntentAnnotation("azure.kinship.dev"): string(intent),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w.edit("vnet/net", string(forged))
	w.apply(group("later"))
	w.ready("vnet/net")
	w.inCloud("later", "net", "rg", "table", "theirs")
}

// TestNoCredentials: without credentials of the operator's own, an object without a Secret is refused, and
// its condition says what to do.
func TestNoCredentials(t *testing.T) {
	w := newCloud(t, atOnce)
	w.credential = "secret"
	w.start()
	w.apply(group("rg"))
	w.says("rg/rg",
		"False InvalidConfiguration spec.credentialsRef is missing: the operator has no credentials of its own")
	if n := w.cloud.CallCount(""); n != 0 {
		t.Errorf("%d requests", n)
	}
}
