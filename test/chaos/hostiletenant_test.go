package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// tenant may do everything in one namespace.
type tenant struct {
	t      *testing.T
	admin  client.WithWatch
	c      client.Client
	ns     string
	random *rand.Rand
	cloud  *evilCloud
	// victim is the namespace of the honest tenant.
	victim string
	counts map[string]int
	// deck has the ways that act draws from.
	deck []tenantWay
	// apprentice has few rights in the tenant's namespace, see launder.
	apprentice client.Client
	// held are the slow connections to the webhooks.
	held []net.Conn
}

const (
	// objectNames is how many names of each kind he uses.
	objectNames = 6
	// oneRequest is how long he waits for an answer.
	oneRequest = 5 * time.Second
)

func newTenant(t *testing.T, random *rand.Rand, cloud *evilCloud, victim string) *tenant {
	t.Helper()
	m := &tenant{
		t: t, admin: operator.Client(t), ns: testenv.Namespace(t), random: random, cloud: cloud, victim: victim,
		counts: map[string]int{},
	}
	for _, obj := range []client.Object{m.secret(cloud.cloudsYAML()), azureSecret(m.ns, hostileSubscription)} {
		if err := m.admin.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	all := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	m.c = m.user("owner", all, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"delete"},
	})
	few := rbacv1.PolicyRule{
		APIGroups: []string{"core.oam.dev"}, Resources: []string{"components", "applicationconfigurations"},
		Verbs: []string{"get", "create", "update", "patch", "delete"},
	}
	m.apprentice = m.user("apprentice", few, few)
	t.Cleanup(m.hangUp)
	return m
}

// user returns the client of a user with rights in the tenant's namespace, once the API server grants one of them.
func (m *tenant) user(role string, rights, one rbacv1.PolicyRule) client.Client {
	m.t.Helper()
	user := m.ns + "-" + role
	name := metav1.ObjectMeta{Namespace: m.ns, Name: role}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rights}},
		&rbacv1.RoleBinding{
			ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		},
	} {
		if err := m.admin.Create(m.t.Context(), obj); err != nil {
			m.t.Fatal(err)
		}
	}
	testenv.AwaitRights(m.t, user, m.ns, true, one)
	return testenv.ClientFor(m.t, testenv.As(m.t, user), m.admin.Scheme())
}

func (m *tenant) secret(clouds string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.ns, Name: "cloud"}, Data: map[string][]byte{"clouds.yaml": []byte(clouds)},
	}
}

// tenantKinds are those of what he makes, and specs of theirs. NAME is one of his objects,
// VICTIM the namespace of the honest tenant.
var tenantKinds = slices.Concat([]tenantKind{
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, nil},
	{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, nil},
	{schema.GroupVersionKind{Group: "protection.crossplane.io", Version: "v1beta1", Kind: "Usage"}, []string{
		"{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: NAME}}, reason: mine}",
		"{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: NAME}}, by: {apiVersion: v1, kind: Secret, " +
			"resourceRef: {name: NAME}}, replayDeletion: true}",
		"{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used-0, namespace: VICTIM}}, replayDeletion: true, " +
			"by: {apiVersion: v1, kind: Secret, resourceRef: {name: NAME}}}",
		"{of: {apiVersion: v1, kind: Secret, resourceSelector: {matchAll: true, matchLabels: {a: b}}}, reason: all}",
		"{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: NAME}}, by: {apiVersion: v1, kind: ConfigMap, " +
			"resourceSelector: {matchControllerRef: true}}}",
		"{of: {apiVersion: nowhere.io/v1, kind: Nothing, resourceRef: {name: NAME}}, reason: none}",
		"{of: {apiVersion: openstack.k-orc.cloud/v1alpha1, kind: Network, resourceRef: {name: NAME}}, reason: held}",
		"{of: {apiVersion: v1, kind: Secret, resourceRef: {name: cloud}}, by: {apiVersion: openstack.k-orc.cloud/v1alpha1, " +
			"kind: Network, resourceRef: {name: NAME}}}",
	}},
	{schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Network"}, []string{
		"{resource: {}}", "{managementPolicy: unmanaged, import: {filter: {name: NAME}}}", "{resource: {mtu: 1400}}",
		"{managementPolicy: unmanaged, import: {filter: {}}}", "{managementPolicy: unmanaged, import: {id: ALIEN}}",
	}},
	{schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Subnet"}, []string{
		"{resource: {networkRef: NAME, ipVersion: 4, cidr: 10.0.0.0/24}}",
		"{resource: {networkRef: NAME, ipVersion: 4, cidr: 10.0.1.0/24, routerRef: NAME}}",
	}},
	{schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Router"}, []string{
		"{resource: {}}",
	}},
	{schema.GroupVersionKind{Group: "openstack.k-orc.cloud", Version: "v1alpha1", Kind: "Port"}, []string{
		"{resource: {networkRef: NAME}}", "{resource: {networkRef: NAME, addresses: [{subnetRef: NAME}]}}",
	}},
	{iotv1alpha1.GroupVersion.WithKind("IotConnector"), []string{
		"{version: 1, deployments: [{name: a, containers: [{type: Normalization, image: none}]}]}",
		"{containers: [{type: Normalization, image: none}, {type: FhirTransformation, image: none}]}",
		"{version: 1, deployments: [{name: NAME, containers: [{type: Normalization, image: none}]}, " +
			"{name: b, containers: [{type: FhirTransformation, image: none}]}]}",
	}},
}, oamTenantKinds, azureTenantKinds)

// tenantKind is a kind with specs.
type tenantKind struct {
	gvk   schema.GroupVersionKind
	specs []string
}

func (m *tenant) name() string { return fmt.Sprintf("o-%d", m.random.IntN(objectNames)) }

// object returns one of a random kind, of no spec.
func (m *tenant) object() (*unstructured.Unstructured, []string) {
	kind := tenantKinds[m.random.IntN(len(tenantKinds))]
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.gvk)
	u.SetNamespace(m.ns)
	u.SetName(m.name())
	return u, kind.specs
}

// tenantWay is one of the things that the tenant does.
type tenantWay struct {
	name string
	do   func(context.Context) error
}

// act does one thing. What comes of it is no concern, but that he gets no rights by it.
func (m *tenant) act() {
	ctx, cancel := context.WithTimeout(m.t.Context(), oneRequest)
	defer cancel()
	ways := []tenantWay{
		{"create", m.create},
		{"create", m.create},
		{"create", m.create},
		{"create", m.create},
		{"delete", m.delete},
		{"delete", m.delete},
		{"change", m.change},
		{"strip", m.strip},
		{"forge", m.forge},
		{"credentials", m.credentials},
		{"trespass", m.trespass},
		{"large", m.large},
		{"toggle", m.toggle},
		{"slow", m.slow},
		{"forge reviews", m.forgeReviews},
		{"launder", m.launder},
	}
	way := draw(m.random, &m.deck, ways)
	if way.name == "credentials" && m.random.IntN(3) > 0 {
		way = ways[0] // Without a cloud he can do nothing bad to it.
	}
	m.counts[way.name]++
	if way.do(ctx) == nil {
		m.counts[way.name+" done"]++
	}
}

func (m *tenant) create(ctx context.Context) error {
	u, specs := m.object()
	u.SetLabels(map[string]string{"a": "b"})
	if m.random.IntN(4) == 0 {
		u.SetLabels(map[string]string{composedLabel: "composite"})
	}
	if m.random.IntN(4) == 0 {
		u.SetAnnotations(map[string]string{"kinship.dev/authority": "author"})
	}
	if m.random.IntN(4) == 0 { // Of somebody who isn't there, or of somebody in another namespace.
		u.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "used-0", UID: types.UID(m.name()), Controller: new(true),
		}})
	}
	if len(specs) > 0 {
		u.Object["spec"] = m.spec(u, specs[m.random.IntN(len(specs))])
	}
	return m.c.Create(ctx, u)
}

func (m *tenant) spec(u *unstructured.Unstructured, text string) map[string]any {
	alien := "0f8fad5b-d9cb-469f-a165-70867728950e"
	if ids := m.cloud.alien(); len(ids) > 0 {
		alien = ids[0]
	}
	text = strings.NewReplacer("NAME", m.name(), "VICTIM", m.victim, "ALIEN", alien).Replace(text)
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		m.t.Errorf("%s: %v", text, err)
	}
	switch group := u.GroupVersionKind().Group; {
	case group == "openstack.k-orc.cloud":
		spec["cloudCredentialsRef"] = map[string]any{"secretName": "cloud", "cloudName": "openstack-admin"}
	case strings.HasSuffix(group, azureGroup):
		spec["credentialsRef"] = map[string]any{"secretName": "azure"}
	}
	return spec
}

func (m *tenant) delete(ctx context.Context) error {
	u, _ := m.object()
	if m.random.IntN(8) == 0 {
		return m.c.DeleteAllOf(ctx, u, client.InNamespace(m.ns))
	}
	policies := []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	}
	return m.c.Delete(ctx, u, client.PropagationPolicy(policies[m.random.IntN(len(policies))]))
}

// change gives an object another spec.
func (m *tenant) change(ctx context.Context) error {
	u, specs := m.object()
	spec := map[string]any{}
	if len(specs) > 0 {
		spec = m.spec(u, specs[m.random.IntN(len(specs))])
	}
	if err := m.c.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
		return err
	}
	if len(specs) > 0 {
		u.Object["spec"] = spec
	}
	return m.c.Update(ctx, u)
}

// strip takes everything off an object that somebody has put on.
func (m *tenant) strip(ctx context.Context) error {
	u, _ := m.object()
	body := `{"metadata":{"finalizers":null,"labels":null,"annotations":null,"ownerReferences":null}}`
	return m.c.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(body)))
}

// forge writes statuses, marks and the lock.
func (m *tenant) forge(ctx context.Context) error {
	u, _ := m.object()
	bodies := []string{
		`{"status":{"id":"0f8fad5b-d9cb-469f-a165-70867728950e"}}`,
		`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Available","message":"",` +
			`"lastTransitionTime":"2030-01-01t00:00:00z"}],"lastSyncTime":"2030-01-01t00:00:00z"}}`,
		`{"status":{"refused":[{"target":{"kind":"ConfigMap","name":"used-0","uid":"u"},"user":"admin",` +
			`"groups":["system:masters"],"time":"2026-01-01T00:00:00Z"}]}}`,
	}
	patch := client.RawPatch(types.MergePatchType, []byte(bodies[m.random.IntN(len(bodies))]))
	if m.random.IntN(2) == 0 {
		return m.c.Status().Patch(ctx, u, patch)
	}
	body := `{"metadata":{"labels":{"crossplane.io/in-use":"true"},"annotations":{"kinship.dev/authority":"author"}}}`
	return m.c.Patch(ctx, u, client.RawPatch(types.MergePatchType, []byte(body)))
}

// credentials has his Secret lead somewhere, or nowhere.
func (m *tenant) credentials(ctx context.Context) error {
	good := m.cloud.cloudsYAML()
	texts := []string{
		good, good, good, "", "clouds: [", strings.ReplaceAll(good, "secret", "wrong"),
		strings.ReplaceAll(good, m.cloud.url, "http://169.254.169.254"),
		strings.ReplaceAll(good, m.cloud.url, "http://127.0.0.1:1"),
	}
	n := m.random.IntN(len(texts) + 1)
	if n == len(texts) {
		return m.c.Delete(ctx, m.secret(""))
	}
	return m.putSecret(ctx, m.c, texts[n])
}

func (m *tenant) putSecret(ctx context.Context, c client.Client, clouds string) error {
	wanted := m.secret(clouds)
	err := c.Create(ctx, wanted)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	body := fmt.Sprintf(`{"data":{"clouds.yaml":%q}}`, toBase64(clouds))
	return c.Patch(ctx, m.secret(""), client.RawPatch(types.MergePatchType, []byte(body)))
}

// trespass tries what he may not.
func (m *tenant) trespass(ctx context.Context) error {
	u, _ := m.object()
	u.SetNamespace(m.victim)
	u.SetName([]string{"used-0", "using-0", "usage-0", "net", "kept"}[m.random.IntN(5)])
	body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	ways := map[string]func() error{
		"delete": func() error { return m.c.Delete(ctx, u) },
		"patch":  func() error { return m.c.Patch(ctx, u, body) },
		"get":    func() error { return m.c.Get(ctx, client.ObjectKeyFromObject(u), u) },
		"all":    func() error { return m.c.DeleteAllOf(ctx, u, client.InNamespace(m.victim)) },
	}
	for name, way := range ways {
		if way() == nil {
			m.t.Errorf("%s of %s %s of somebody else was answered", name, u.GetKind(), u.GetName())
		}
	}
	return nil
}

// leave has an administrator delete the tenant's objects and namespace, and expects all to be
// gone. A tenant who strips finalizers leaves resources in his cloud, which hold other resources
// and share their names. The cloud therefore answers each DELETE with 404, and the administrator
// removes the namesakes.
func (m *tenant) leave() {
	m.t.Helper()
	m.hangUp()
	m.cloud.good.AddFault(emulator.Fault{
		Service: "network", Method: http.MethodDelete, Status: http.StatusNotFound, Times: -1,
	})
	testenv.EventuallyWithin(m.t, hostilePatience, func() error {
		return m.putSecret(m.t.Context(), m.admin, m.cloud.cloudsYAML())
	})
	testenv.EventuallyWithin(m.t, hostilePatience, func() error {
		m.removeNamesakes()
		var left, needing []string // Usages need no Secret: some wait until a Secret is deleted.
		for _, kind := range slices.Backward(tenantKinds) {
			if kind.gvk.Kind == "Secret" && len(needing) > 0 {
				continue // The objects of a cloud need the Secrets that they name.
			}
			found := m.deleteAll(kind.gvk)
			left = append(left, found...)
			if kind.gvk.Kind != "Usage" {
				needing = append(needing, found...)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("the tenant's are left: %s", strings.Join(left, "; "))
		}
		return nil
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.ns}}
	testenv.EventuallyWithin(m.t, hostilePatience, func() error {
		err := m.admin.Delete(m.t.Context(), namespace.DeepCopy())
		if apierrors.IsNotFound(err) {
			return nil
		}
		err = m.admin.Get(m.t.Context(), client.ObjectKeyFromObject(namespace), namespace)
		return fmt.Errorf("the tenant's namespace is left: %v, error %w", namespace.Status.Conditions, err)
	})
}

// removeNamesakes removes all resources whose name occurs twice in one table of the tenant's
// cloud. A Router whose creation was not answered can't tell which of two namesakes is its own:
// the Router waits with "found more than one matching OpenStack resource during adoption ...
// delete what is not needed", and the administrator does what the message says.
func (m *tenant) removeNamesakes() {
	m.t.Helper()
	for table, items := range m.cloud.good.Inventory() {
		byName := map[string][]string{}
		for _, item := range items {
			byName[item.Name] = append(byName[item.Name], item.ID)
		}
		delete(byName, "")
		for name, ids := range byName {
			if len(ids) == 1 {
				continue
			}
			m.t.Logf("remove the %d namesakes %s from %s", len(ids), name, table)
			for _, id := range ids {
				m.cloud.good.Remove(table, id)
			}
		}
	}
}

// deleteAll deletes all of a kind, and tells what is there and why.
func (m *tenant) deleteAll(gvk schema.GroupVersionKind) []string {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	err := m.admin.List(m.t.Context(), list, client.InNamespace(m.ns))
	if meta.IsNoMatchError(err) {
		return nil // A test without Azure.
	}
	if err != nil {
		return []string{err.Error()}
	}
	var left []string
	for i := range list.Items {
		u := &list.Items[i]
		if u.GetName() == "kube-root-ca.crt" || u.GetName() == "cloud" || u.GetName() == "azure" {
			continue
		}
		err := m.admin.Delete(m.t.Context(), u.DeepCopy())
		left = append(left, fmt.Sprintf("%s %s %v: %v %v", gvk.Kind, u.GetName(), u.GetFinalizers(), err, u.Object["status"]))
	}
	return left
}
