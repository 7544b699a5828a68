package security_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestIntentsAreTheOperators: a tenant with all rights in a namespace can't have the operator believe that it
// was about to create a resource, such as one of another tenant: the operator would delete the resource with
// the object. Neither can the account of another pack, which may write what a tenant says. An intent of another object
// means nothing, and may be restored from a backup.
func TestIntentsAreTheOperators(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Packs = options.PackNames() })
	l := newLand(t)
	l.enableGroups()
	users := append(options.Operators(), l.user("tenant"))
	for _, user := range users {
		l.allow(user, right("*", "*", "*"))
	}
	network := &unstructured.Unstructured{}
	network.SetAPIVersion(cloudGroup.String())
	network.SetKind("Network")
	network.SetNamespace(l.NS)
	network.SetName("it")
	network.Object["spec"] = map[string]any{
		"cloudCredentialsRef": map[string]any{"secretName": "none", "cloudName": "c"}, "resource": map[string]any{},
	}
	group := l.group("it")
	_ = unstructured.SetNestedField(group.Object, "none", "spec", "credentialsRef", "secretName")
	owners := map[string]string{
		"openstack.k-orc.cloud": options.OperatorOf("openstack"), "azure.kinship.dev": options.OperatorOf("azure"),
	}
	objects := map[string]*unstructured.Unstructured{"openstack.k-orc.cloud": network, "azure.kinship.dev": group}
	for name, obj := range objects {
		t.Run(name, func(t *testing.T) {
			l := l
			l.T = t
			l.Create(obj)
			write := func(user, intent string) error {
				change := client.RawPatch(types.MergePatchType,
					fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, external.IntentAnnotation(name), intent))
				return l.As(user).Patch(t.Context(), obj.DeepCopy(), change, client.DryRunAll)
			}
			own := strings.ReplaceAll(string(obj.GetUID()), "-", `\\u002d`)
			for i := range 2 * len(users) {
				user := users[i/2]
				intent := []string{fmt.Sprintf(`"{\"uid\":\"%s\"}"`, obj.GetUID()), `"{\"uid\":\"` + own + `\"}"`}[i%2]
				testenv.Eventually(t, func() error { // The API server learns of policies by a watch.
					err := write(user, intent)
					switch {
					case user == owners[name]:
						return err
					case err == nil:
						return fmt.Errorf("%s may write the intent %s", user, intent)
					case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only Kinship may write the annotation"):
						return fmt.Errorf("refused with other words: %w", err)
					}
					return nil
				})
			}
			tenant := users[len(users)-1]
			if err := errors.Join(write(tenant, `"{\"uid\":\"another\"}"`), write(tenant, "null")); err != nil {
				t.Errorf("an intent of another object, and none, are refused: %v", err)
			}
			l.Delete(obj)
		})
	}
}
