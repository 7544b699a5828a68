package security_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// naming are objects that name Secret cloud and, in a field, one more.
var naming = map[string]struct{ kind, resource string }{
	"spec.resource.passwordRef":        {"User", "{passwordRef: %s}"},
	"spec.resource.secretRef":          {"ApplicationCredential", "{userRef: it, secretRef: %s}"},
	"spec.resource.userData.secretRef": {"Server", "{imageRef: it, flavorRef: it, ports: [], userData: {secretRef: %s}}"},
}

// outside returns an object of the openstack pack.
func (l land) outside(kind, name, resource string) *unstructured.Unstructured {
	l.T.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf(manifest, cloudGroup, kind, name, "resource: "+resource)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		l.T.Fatal(err)
	}
	u.SetNamespace(l.NS)
	return u
}

// tenant may write objects of the openstack pack, and do something with Secrets.
func (l land) tenant(name string, rights ...rbacv1.PolicyRule) client.Client {
	l.T.Helper()
	l.allow(l.user(name), append(rights, right(cloudGroup.Group, "*", "create", "get", "update", "patch"))...)
	return l.As(l.user(name))
}

// onSecrets is a right on some Secrets.
func onSecrets(verb string, names ...string) rbacv1.PolicyRule {
	r := right("", "secrets", verb)
	r.ResourceNames = names
	return r
}

// refused expects that a request is refused for a reference to a Secret.
func refused(t *testing.T, err error, field, secret string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), field+" names Secret "+secret+" in namespace ") ||
		!strings.Contains(err.Error(), "grant you the verb get or use on it") {
		t.Errorf("%s %s: %v, want it refused", field, secret, err)
	}
}

// TestUnseenSecrets: whoever may not use a Secret does not get it by way of an object
// that names it, and does not learn whether it is there.
func TestUnseenSecrets(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Packs = []string{"openstack"} })
	l := newLand(t)
	l.Create(l.secret("unseen"))
	poor, half := l.tenant("poor"), l.tenant("half", onSecrets("use", "cloud"))
	user := l.tenant("user", onSecrets("use", "cloud", "unseen", "missing"))
	reader := l.tenant("reader", onSecrets("get", "cloud", "unseen", "missing"))
	testenv.Eventually(t, func() error { // The API server learns of the policy by a watch.
		err := poor.Create(t.Context(), l.outside("Network", "it", "{}"), client.DryRunAll)
		if err == nil {
			err = errors.New("it is not refused")
		} else if apierrors.IsForbidden(err) {
			err = nil
		}
		return err
	})
	refused(t, poor.Create(t.Context(), l.outside("Network", "it", "{}"), client.DryRunAll),
		"spec.cloudCredentialsRef.secretName", "cloud")
	for field, c := range naming {
		for _, name := range []string{"unseen", "missing"} {
			obj := l.outside(c.kind, "it", fmt.Sprintf(c.resource, name))
			refused(t, half.Create(t.Context(), obj.DeepCopy(), client.DryRunAll), field, name)
			for _, who := range []client.Client{user, reader} {
				if err := who.Create(t.Context(), obj.DeepCopy(), client.DryRunAll); err != nil {
					t.Errorf("%s %s, with the right: %v", field, name, err)
				}
			}
		}
	}
	t.Run("an update", l.updates)
	t.Run("the operator", l.works)
}

// updates changes an object that names a Secret which whoever changes it may not use.
func (l land) updates(t *testing.T) {
	l.T = t
	poor, half := l.As(l.user("poor")), l.As(l.user("half"))
	other := l.tenant("other", onSecrets("use", "other"))
	obj := l.outside("User", "theirs", "{passwordRef: unseen}")
	l.Create(obj)
	patch := func(who client.Client, patch string) error {
		return who.Patch(t.Context(), obj.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	for what, allowed := range map[string]string{
		"the rest of the spec": `{"spec":{"resource":{"description":"x"}}}`,
		"finalizers":           `{"metadata":{"finalizers":["example.com/theirs"]}}`,
		"labels":               `{"metadata":{"labels":{"a":"b"}}}`,
	} {
		if err := patch(poor, allowed); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused(t, patch(half, `{"spec":{"resource":{"passwordRef":"missing"}}}`), "spec.resource.passwordRef", "missing")
	refused(t, patch(poor, `{"spec":{"cloudCredentialsRef":{"cloudName":"openstack"}}}`),
		"spec.cloudCredentialsRef.secretName", "cloud")
	// The password would be sent to a cloud of his own.
	refused(t, patch(other, `{"spec":{"cloudCredentialsRef":{"secretName":"other"}}}`),
		"spec.resource.passwordRef", "unseen")
}

// works has the operator make what a tenant may have made.
func (l land) works(t *testing.T) {
	l.T = t
	cloud := operator.Cloud(t, emulator.Options{})
	secret, password := l.secret("cloud"), l.secret("password")
	secret.Data = map[string][]byte{"clouds.yaml": []byte(cloud.CloudsYAML())}
	password.Data = map[string][]byte{"password": []byte("pass")}
	l.Create(secret, password)
	obj := l.outside("User", "mine", "{passwordRef: password}")
	if err := l.tenant("maker", onSecrets("use", "cloud", "password")).Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return l.each([]*unstructured.Unstructured{obj}, isAvailable) })
	l.Delete(obj)
	l.Gone(obj)
}
