package security_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	lockLabel  = "crossplane.io/in-use"
	authority  = "kinship.dev/authority"
	usageGroup = "protection.crossplane.io"
)

func TestMain(m *testing.M) {
	operator.Packs("usage") // But for TestLeastRights.
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		panic(err)
	}
	testenv.Main(m, testenv.CRDs("../../config/crd"), testenv.CheckLeaks(),
		testenv.ControlPlane(func(o *localcluster.Options) {
			// To standard output, which is the program's log.
			o.ExtraArgs = map[string][]string{
				localcluster.APIServer: {"--audit-policy-file=" + policy, "--audit-log-path=-"},
			}
		}))
}

// land is a namespace, and what its administrator does there.
type land struct{ testenv.World }

func newLand(t *testing.T) land {
	t.Helper()
	return land{testenv.NewWorld(t, operator.Client(t))}
}

func (l land) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: l.NS, Name: name}
}

func (l land) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: l.named(name)}
}

func (l land) secret(name string) *corev1.Secret { return &corev1.Secret{ObjectMeta: l.named(name)} }

// usage returns one that protects ConfigMap used on behalf of Secret using.
func (l land) usage(name string) *protectionv1beta1.Usage {
	return &protectionv1beta1.Usage{ObjectMeta: l.named(name), Spec: sharedv1alpha1.UsageSpec{
		Of: resource("ConfigMap", "used"), By: new(resource("Secret", "using")),
	}}
}

func resource(kind, name string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: kind, ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
	}
}

func in(namespace string, r sharedv1alpha1.Resource) sharedv1alpha1.Resource {
	r.ResourceRef.Namespace = namespace
	return r
}

// right is a rule for RBAC: verbs on resources of one group.
func right(group, resources string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resources}, Verbs: verbs}
}

// onUsages is the right to do everything with Usages.
var onUsages = right(usageGroup, "usages", "*")

// onUsing is the right to see what uses something.
var onUsing = right("", "secrets", "get")

// allow gives a user rights in the namespace and waits until they count.
func (l land) allow(user string, rules ...rbacv1.PolicyRule) {
	l.T.Helper()
	role := l.named(user)
	role.Name, role.GenerateName = "", strings.ReplaceAll(user, ":", "-")+"-"
	r := &rbacv1.Role{ObjectMeta: role, Rules: rules}
	l.Create(r)
	l.Create(&rbacv1.RoleBinding{
		ObjectMeta: l.named(r.Name), Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: r.Name},
	})
	l.awaitRights(user, true, rules...)
}

// user returns a name that nobody has in another test.
func (l land) user(name string) string { return l.NS + "-" + name }

// isReady returns nil if a Usage is Ready.
func (l land) isReady(u client.Object) error {
	var now protectionv1beta1.Usage
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(u), &now); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(now.Status.Conditions, sharedv1alpha1.ConditionReady)
	if ready == nil {
		return errors.New("no condition Ready")
	}
	if ready.Status != metav1.ConditionTrue {
		return fmt.Errorf("%s: %s", ready.Reason, ready.Message)
	}
	return nil
}

// awaitReady waits until a Usage is Ready.
func (l land) awaitReady(u client.Object) {
	l.T.Helper()
	testenv.Eventually(l.T, func() error { return l.isReady(u) })
}

// grant lets Usages of a namespace protect something here.
func (l land) grant(from string, to ...kinshipv1alpha1.ReferenceGrantTo) *kinshipv1alpha1.ReferenceGrant {
	return &kinshipv1alpha1.ReferenceGrant{
		ObjectMeta: l.named("grant"),
		Spec: kinshipv1alpha1.ReferenceGrantSpec{
			From: []kinshipv1alpha1.ReferenceGrantFrom{{Group: usageGroup, Kind: "Usage", Namespace: from}},
			To:   to,
		},
	}
}

var schemeKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// selectOwned selects what has the same controller as the Usage.
var selectOwned = &sharedv1alpha1.ResourceSelector{MatchControllerRef: new(true), MatchAll: new(true)}
