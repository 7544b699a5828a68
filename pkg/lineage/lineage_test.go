package lineage_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.CRDs("testdata/crd"), testenv.CheckLeaks())
}

// ties is the relation of the tests: a Tie names ConfigMaps, in spec.of and
// spec.by, which may be "*" for all that are labelled team=blue.
func ties(role relation.Role) relation.Relation {
	tie := schema.GroupKind{Group: "test.kinship.dev", Kind: "Tie"}
	return relation.Relation{
		Name: "ties", Role: role, Declarer: tie,
		Extract: func(obj client.Object, _ relation.Kinds) []relation.Edge {
			u := obj.(*unstructured.Unstructured)
			return []relation.Edge{{
				Relation: "ties", Role: role, Declarer: object.Of(u, tie),
				Source: tied(u, "by"), Target: tied(u, "of"), Field: "spec.of",
				SourceUID: types.UID(nested(u, "spec", "uid")),
			}}
		},
	}
}

func tied(u *unstructured.Unstructured, field string) relation.Ref {
	id := object.ID{Kind: "ConfigMap", Namespace: u.GetNamespace(), Name: nested(u, "spec", field)}
	switch id.Name {
	case "":
		return relation.Ref{}
	case "*":
		id.Name = ""
		return relation.Ref{ID: id, Selector: &relation.Selector{Labels: map[string]string{"team": "blue"}}}
	}
	return relation.Named(id)
}

func nested(u *unstructured.Unstructured, fields ...string) string {
	text, _, _ := unstructured.NestedString(u.Object, fields...)
	return text
}

// look returns a view with the relation of the tests.
func look(t *testing.T, config *rest.Config, change ...func(*lineage.Options)) *lineage.Cluster {
	t.Helper()
	options := lineage.Options{Relations: []relation.Relation{ties(relation.Usage)}}
	for _, f := range change {
		f(&options)
	}
	cluster, err := lineage.New(t.Context(), config, options)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func find(t *testing.T, c *lineage.Cluster, kind, name, namespace string) *lineage.Node {
	t.Helper()
	n, err := c.Find(t.Context(), kind, name, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// outline writes a tree, one branch per line.
func outline(b *lineage.Branch) []string {
	text := strings.TrimSpace(string(b.Via) + " " + b.Node.ID.Short())
	if b.Repeated {
		text += " repeated"
	}
	if b.Hidden > 0 {
		text += fmt.Sprintf(" hides %d", b.Hidden)
	}
	lines := []string{text}
	for _, below := range b.Branches {
		for _, line := range outline(below) {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

func treeOf(t *testing.T, c *lineage.Cluster, root *lineage.Node, o lineage.TreeOptions) *lineage.Tree {
	t.Helper()
	tree, err := c.Tree(t.Context(), root, o)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// configMap applies a ConfigMap with owners and returns it.
func configMap(t *testing.T, namespace, name string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetName(name)
	obj.SetNamespace(namespace)
	refs := make([]metav1.OwnerReference, 0, len(owners))
	for _, o := range owners {
		refs = append(refs, metav1.OwnerReference{
			APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(),
		})
	}
	obj.SetOwnerReferences(refs)
	err := testenv.Client(t, nil).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj),
		client.FieldOwner("test"), client.ForceOwnership)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestTreeShowsEachOnce has the cases that other tools show wrong: several owners, owners in a
// circle, and an object that owns itself.
func TestTreeShowsEachOnce(t *testing.T) {
	ns := testenv.Namespace(t)
	a := configMap(t, ns, "a")
	c := configMap(t, ns, "c", a)
	b := configMap(t, ns, "b", a, c)
	configMap(t, ns, "a", b) // The circle closes.
	configMap(t, ns, "c", a, c)
	cases := map[string]struct {
		root string
		lineage.TreeOptions
		want []string
	}{
		"down": {"a", lineage.TreeOptions{}, []string{
			"ConfigMap/a",
			"  owns ConfigMap/b",
			"    owns ConfigMap/a repeated",
			"  owns ConfigMap/c",
			"    owns ConfigMap/b repeated",
			"    owns ConfigMap/c repeated",
		}},
		"up": {"c", lineage.TreeOptions{Up: true}, []string{
			"ConfigMap/c",
			"  owned by ConfigMap/a",
			"    owned by ConfigMap/b",
			"      owned by ConfigMap/a repeated",
			"      owned by ConfigMap/c repeated",
			"  owned by ConfigMap/c repeated",
		}},
		"not deep": {"a", lineage.TreeOptions{Depth: 1}, []string{
			"ConfigMap/a",
			"  owns ConfigMap/b hides 1",
			"  owns ConfigMap/c hides 2",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := look(t, testenv.Config(t))
			tree := treeOf(t, cluster, find(t, cluster, "configmaps", tc.root, ns), tc.TreeOptions)
			if diff := cmp.Diff(tc.want, outline(tree.Root)); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
		})
	}
}

// TestTreeNamespaces: ownerReferences are followed where they are valid, and on demand where
// they are not. The API server accepts both.
func TestTreeNamespaces(t *testing.T) {
	ns, other := testenv.Namespace(t), testenv.Namespace(t)
	config := testenv.Config(t)
	root := configMap(t, ns, "root")
	// The finalizer keeps the object from the garbage collector.
	held(t, other, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: abroad
  finalizers: [example.com/keep]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: root, uid: %s}]
`, root.GetUID()))
	for _, all := range []bool{false, true} {
		cluster := look(t, config)
		tree := treeOf(t, cluster, find(t, cluster, "cm", "root", ns), lineage.TreeOptions{AllNamespaces: all})
		if got := len(tree.Root.Branches); (got == 1) != all {
			t.Errorf("AllNamespaces %t: %d branches", all, got)
		}
	}
}

// TestOwnerIsReplaced: an owner is identified by its UID. The finalizer keeps the object from
// the garbage collector.
func TestOwnerIsReplaced(t *testing.T) {
	ns := testenv.Namespace(t)
	configMap(t, ns, "root")
	held(t, ns, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: left
  finalizers: [example.com/keep]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: root, uid: 11111111-2222-3333-4444-555555555555}]
`)
	cluster := look(t, testenv.Config(t))
	tree := treeOf(t, cluster, find(t, cluster, "cm", "root", ns), lineage.TreeOptions{})
	if len(tree.Root.Branches) != 0 {
		t.Errorf("it owns what was owned by another: %q", outline(tree.Root))
	}
	cluster = look(t, testenv.Config(t))
	tree = treeOf(t, cluster, find(t, cluster, "cm", "left", ns), lineage.TreeOptions{Up: true})
	if owner := tree.Root.Branches[0].Node; owner.Status != lineage.NotFound || owner.ID.Name != "root" {
		t.Errorf("the owner %s is %s", owner.ID, owner.Status)
	}
}

// TestTreeRelations shows declared edges of any role, by name and by selector. The end of such
// an edge is a leaf.
func TestTreeRelations(t *testing.T) {
	ns := testenv.Namespace(t)
	testenv.Apply(t, `
apiVersion: v1
kind: ConfigMap
metadata: {name: x2, labels: {team: blue}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x, labels: {team: blue}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: z}
---
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: all}
spec: {of: z, by: "*"}
---
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: missing}
spec: {of: z, by: missing}
---
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: own}
spec: {of: z}
`, testenv.In(ns))
	cases := map[string]struct {
		role relation.Role
		root string
		want []string
	}{
		"usage, at its target": {relation.Usage, "z", []string{
			"ConfigMap/z", "  used by ConfigMap/x", "  used by ConfigMap/x2", "  used by ConfigMap/missing",
			"  protected by Tie/own",
		}},
		"usage, at its source": {relation.Usage, "x", []string{"ConfigMap/x", "  uses ConfigMap/z"}},
		"dependency at its target": {relation.Dependency, "z", []string{
			"ConfigMap/z", "  needed by ConfigMap/x", "  needed by ConfigMap/x2", "  needed by ConfigMap/missing",
			"  protected by Tie/own",
		}},
		"dependency at its source": {relation.Dependency, "x", []string{"ConfigMap/x", "  needs ConfigMap/z"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cluster := look(t, testenv.Config(t), func(o *lineage.Options) {
				o.Relations = []relation.Relation{ties(tc.role)}
			})
			tree := treeOf(t, cluster, find(t, cluster, "cm", tc.root, ns), lineage.TreeOptions{})
			if diff := cmp.Diff(tc.want, outline(tree.Root)); diff != "" {
				t.Errorf("(-want, +got):\n%s", diff)
			}
			tree.Walk(func(b *lineage.Branch) {
				if missing := b.Node.Status == lineage.NotFound; missing != (b.Node.ID.Name == "missing") {
					t.Errorf("%s is %s", b.Node.ID, b.Node.Status)
				}
			})
		})
	}
}

// TestRequests checks the promise of the package: each kind is listed once, and whole objects
// are read only if their status is shown.
func TestRequests(t *testing.T) {
	ns := testenv.Namespace(t)
	web := testenv.Apply(t, deployment(2), testenv.In(ns))[0]
	configMap(t, ns, "web-settings", web)
	awaitPods(t, ns, 2)
	config := testenv.Config(t)
	counter := countRequests(config)
	cluster := look(t, config)
	tree := treeOf(t, cluster, find(t, cluster, "deploy", "web", ns), lineage.TreeOptions{})
	want := []string{"Deployment", "  owns ConfigMap", "  owns ReplicaSet", "    owns Pod", "    owns Pod"}
	if diff := cmp.Diff(want, kinds(outline(tree.Root))); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	lists := 0
	for path, n := range counter.counts() {
		isList := !strings.HasSuffix(path, "/api") && !strings.HasSuffix(path, "/apis") && !strings.Contains(path, "web")
		if n != 1 {
			t.Errorf("%d times %s", n, path)
		}
		if isList {
			lists++
		}
		if strings.Contains(path, "events") {
			t.Errorf("%s: nobody owns events", path)
		}
	}
	// Two for discovery, and the objects that are shown, but for the ConfigMap.
	if got := counter.total() - lists; got != 6 {
		t.Errorf("%d requests that are not lists, want 6:\n%s", got, counter)
	}
	t.Logf("%d requests, %d of them lists", counter.total(), lists)
}

// TestManyAreListed shows that a list takes the place of many reads.
func TestManyAreListed(t *testing.T) {
	ns := testenv.Namespace(t)
	testenv.Apply(t, deployment(12), testenv.In(ns))
	awaitPods(t, ns, 12)
	config := testenv.Config(t)
	counter := countRequests(config)
	cluster := look(t, config)
	tree := treeOf(t, cluster, find(t, cluster, "deploy", "web", ns), lineage.TreeOptions{})
	var pods int
	tree.Walk(func(b *lineage.Branch) {
		if b.Node.ID.Kind == "Pod" && b.Node.Status == lineage.Current {
			pods++
		}
	})
	if pods != 12 {
		t.Errorf("%d pods are Current, want 12", pods)
	}
	for path, n := range counter.counts() {
		if strings.Contains(path, "/pods/") || (strings.HasSuffix(path, "/pods") && n != 2) {
			t.Errorf("%d times %s, want one list of metadata and one of pods", n, path)
		}
	}
}

func kinds(lines []string) []string {
	for i, line := range lines {
		lines[i], _, _ = strings.Cut(line, "/")
	}
	return lines
}

// TestPages shows that nothing is lost between pages.
func TestPages(t *testing.T) {
	ns := testenv.Namespace(t)
	root := configMap(t, ns, "root")
	want := make([]string, 0, 7)
	for i := range cap(want) {
		want = append(want, configMap(t, ns, fmt.Sprintf("owned-%d", i), root).GetName())
	}
	cluster := look(t, testenv.Config(t), func(o *lineage.Options) { o.PageSize = 2 })
	tree := treeOf(t, cluster, find(t, cluster, "configmap", "root", ns), lineage.TreeOptions{})
	got := make([]string, 0, len(want))
	for _, b := range tree.Root.Branches {
		got = append(got, b.Node.ID.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

// TestPagesExpire: a list is read from the beginning if the API server has forgotten the
// continue token.
func TestPagesExpire(t *testing.T) {
	ns := testenv.Namespace(t)
	root := configMap(t, ns, "root")
	for i := range 3 {
		configMap(t, ns, fmt.Sprintf("owned-%d", i), root)
		testenv.Apply(t, fmt.Sprintf(`
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: t%d}
spec: {of: root}
`, i), testenv.In(ns))
	}
	config := testenv.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return forgetful{next} })
	cluster := look(t, config, func(o *lineage.Options) { o.PageSize = 2 })
	tree := treeOf(t, cluster, find(t, cluster, "configmap", "root", ns), lineage.TreeOptions{})
	want := []string{
		"ConfigMap/root", "  owns ConfigMap/owned-0", "  owns ConfigMap/owned-1", "  owns ConfigMap/owned-2",
		"  protected by Tie/t0", "  protected by Tie/t1", "  protected by Tie/t2",
	}
	if diff := cmp.Diff(want, outline(tree.Root)); diff != "" || len(tree.Skipped) > 0 {
		t.Errorf("skipped %v (-want, +got):\n%s", tree.Skipped, diff)
	}
}

// TestDeadServer: a group whose API server does not answer is named, and all other groups are
// shown.
func TestDeadServer(t *testing.T) {
	ns := testenv.Namespace(t)
	configMap(t, ns, "owned", configMap(t, ns, "root"))
	service := testenv.Apply(t, `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.dead.kinship.dev}
spec:
  group: dead.kinship.dev
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: nobody, namespace: default}
`)[0]
	c := testenv.Client(t, nil)
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), service); err != nil {
			t.Error(err)
		}
	})
	testenv.Eventually(t, func() error {
		cluster := look(t, testenv.Config(t))
		tree := treeOf(t, cluster, find(t, cluster, "configmap", "root", ns), lineage.TreeOptions{})
		if len(tree.Root.Branches) != 1 {
			t.Fatalf("the tree is %q", outline(tree.Root))
		}
		if len(tree.Skipped) != 1 || tree.Skipped[0].Group != "dead.kinship.dev" {
			return fmt.Errorf("skipped is %v", tree.Skipped)
		}
		return nil
	})
}

// TestForbidden: kinds that the user may not list are left out and named.
func TestForbidden(t *testing.T) {
	ns := testenv.Namespace(t)
	user := "user-of-" + ns
	testenv.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata: {name: z}
---
apiVersion: test.kinship.dev/v1
kind: Tie
metadata: {name: own}
spec: {of: z}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: some}
rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list]}
  - {apiGroups: [test.kinship.dev], resources: [ties], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: some}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: some}
subjects: [{kind: User, name: %s, apiGroup: rbac.authorization.k8s.io}]
`, user), testenv.In(ns))
	testenv.AwaitRights(t, user, ns, true, rbacv1.PolicyRule{
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"},
	})
	cluster := look(t, testenv.As(t, user))
	tree := treeOf(t, cluster, find(t, cluster, "cm", "z", ns), lineage.TreeOptions{})
	if diff := cmp.Diff([]string{"ConfigMap/z", "  protected by Tie/own"}, outline(tree.Root)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	skipped := make([]string, 0, len(tree.Skipped))
	for _, s := range tree.Skipped {
		skipped = append(skipped, s.String())
	}
	for _, want := range []string{
		"secrets in namespace " + ns + " (forbidden)", "ties.test.kinship.dev outside namespace " + ns + " (forbidden)",
	} {
		if !slices.Contains(skipped, want) {
			t.Errorf("skipped does not name %q:\n%s", want, strings.Join(skipped, "\n"))
		}
	}
	if slices.Contains(skipped, "configmaps in namespace "+ns+" (forbidden)") {
		t.Errorf("configmaps may be listed:\n%s", strings.Join(skipped, "\n"))
	}
}
