package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func changeOf(old, now client.Object) watch.Change[client.Object] {
	return watch.Change[client.Object]{Old: old, New: now}
}

// podWith returns a Pod that mounts the claim data and the Secret keys.
func podWith(name string) *corev1.Pod {
	pod := newPod(name, "data")
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "keys"},
	}})
	return pod
}

// bind puts the claim data with a volume into a store.
func bind(t *testing.T, stored toolscache.Store, volume string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := storeClaim(t, stored)
	claim.Spec.VolumeName, claim.Status.Phase = volume, corev1.ClaimBound
	return claim
}

// keys returns the Secret keys, as an informer of metadata has it.
func keys(version string) client.Object {
	obj := metadataOf(secrets)
	obj.SetNamespace("ns")
	obj.SetName("keys")
	obj.SetResourceVersion(version)
	return obj
}

// see puts an object into its store and tells the engine, as an informer does.
func see(t *testing.T, e *Engine, gk schema.GroupKind, old, now client.Object) {
	t.Helper()
	if err := e.member(gk).Store.Add(now); err != nil {
		t.Fatal(err)
	}
	e.Observe(gk, changeOf(old, now))
}

// TestRefs: Refs has each target with its object, its value and its version.
func TestRefs(t *testing.T) {
	e, stored := newEngine(nil)
	claim := bind(t, stored, "volume-1")
	see(t, e, secrets.GroupKind(), nil, keys("7"))
	refs := e.Resolve(pods.GroupKind(), podWith("a"), false)
	if len(refs.Targets()) != 2 {
		t.Fatalf("targets %v", refs.Targets())
	}
	data, secret := refs.Targets()[0], refs.Targets()[1]
	if data.Value() != "volume-1" {
		t.Errorf("the claim has the value %q", data.Value())
	}
	if data.ID() != claimData || data.Relation().Name != "PodClaim" || data.Object() != claim || data.IsMetadata() {
		t.Errorf("the claim is %v of %s, metadata %t", data.ID(), data.Relation().Name, data.IsMetadata())
	}
	if secret.ID() != secretKeys || !secret.IsMetadata() || secret.Value() != "" {
		t.Errorf("the Secret is %v with the value %q, metadata %t", secret.ID(), secret.Value(), secret.IsMetadata())
	}
}

// TestRefsOf: Refs finds a target by its kind and its name.
func TestRefsOf(t *testing.T) {
	e, stored := newEngine(nil)
	claim, gk := bind(t, stored, "volume-1"), claims.GroupKind()
	see(t, e, secrets.GroupKind(), nil, keys("7"))
	refs := e.Resolve(pods.GroupKind(), podWith("a"), false)
	if refs.ID(gk, "data") != "volume-1" || refs.Object(gk, "data") != claim {
		t.Errorf("the claim has the value %q", refs.ID(gk, "data"))
	}
	if refs.ID(gk, "other") != "" || refs.Object(secrets.GroupKind(), "data") != nil {
		t.Error("an object that nobody names is a target")
	}
	if refs.Version(secrets.GroupKind(), "keys") != "7" || refs.Version(gk, "data") != "" {
		t.Errorf("versions %q and %q", refs.Version(secrets.GroupKind(), "keys"), refs.Version(gk, "data"))
	}
}

// TestFingerprint: the fingerprint changes with the value or the content of a target, and with nothing else.
func TestFingerprint(t *testing.T) {
	e, stored := newEngine(nil)
	claim := bind(t, stored, "volume-1")
	see(t, e, secrets.GroupKind(), nil, keys("7"))
	fingerprint := func() string { return e.Resolve(pods.GroupKind(), podWith("a"), false).Fingerprint() }
	first := fingerprint()
	claim.Labels = map[string]string{"a": "b"}
	if fingerprint() != first {
		t.Error("a label of a target changes the fingerprint")
	}
	see(t, e, secrets.GroupKind(), keys("7"), keys("8"))
	second := fingerprint()
	claim.Spec.VolumeName = "volume-2"
	third := fingerprint()
	if err := stored.Delete(claim); err != nil {
		t.Fatal(err)
	}
	all := []string{first, second, third, fingerprint()}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 4 {
		t.Errorf("%d fingerprints of 4 different states", n)
	}
}

// TestReads: the value of a target with Relation.Reads is the version of its content.
func TestReads(t *testing.T) {
	e, _ := newEngine(nil, func(r *relation.Relation) {
		*r = toSecret
		r.Name, r.Reads = "PodSecretContent", true
	})
	see(t, e, secrets.GroupKind(), nil, keys("7"))
	if got := e.Resolve(pods.GroupKind(), podWith("a"), false).ID(secrets.GroupKind(), "keys"); got != "7" {
		t.Errorf("the value is %q, want the resourceVersion", got)
	}
}

// TestOnce: an object that is complete does not need the targets of a relation with Relation.Once any more.
func TestOnce(t *testing.T) {
	e, _ := newEngine(nil, func(r *relation.Relation) { r.Once = true })
	for complete, want := range map[bool]int{false: 2, true: 1} {
		if got := len(e.Resolve(pods.GroupKind(), podWith("a"), complete).Targets()); got != want {
			t.Errorf("complete %t: %d targets, want %d", complete, got, want)
		}
	}
}

// TestIsLate: only targets of relations with Relation.Later are late.
func TestIsLate(t *testing.T) {
	for later, absent := range map[bool]bool{true: true, false: false} {
		e, stored := newEngine(nil, func(r *relation.Relation) { r.Later = later })
		if got := e.Resolve(pods.GroupKind(), podWith("a"), false).IsLate(); got != absent {
			t.Errorf("later %t, without the claim: late is %t", later, got)
		}
		bind(t, stored, "volume-1")
		if e.Resolve(pods.GroupKind(), podWith("a"), false).IsLate() {
			t.Errorf("later %t: a bound claim is late", later)
		}
	}
}

// TestWaitsByRole: an object waits for its dependencies and owners, and not for what it creates or protects.
func TestWaitsByRole(t *testing.T) {
	for role, reason := range map[relation.Role]string{
		relation.Dependency: "W", relation.Binding: "W", relation.Owner: "O", relation.Composition: "", relation.Usage: "",
	} {
		e := New(nil, Options{Reasons: Reasons{Waiting: "W", Owner: "O"}})
		r := toClaim
		r.Role = role
		e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Relations: []relation.Relation{r}, Store: newStore()})
		e.Add(Kind{GVK: claims, Store: newStore()})
		outcome := e.Resolve(pods.GroupKind(), newPod("a", "data"), false).Waits()
		if outcome.Worst().Reason != reason {
			t.Errorf("role %s: %q, %s; want the reason %q", role, outcome.Worst().Reason, outcome.Message(), reason)
		}
	}
}

// TestWaitsForKind: a kind that the API server does not serve is named, whether the engine has the kind or not.
func TestWaitsForKind(t *testing.T) {
	const want = "Waiting for PersistentVolumeClaim/data to be created: the kind PersistentVolumeClaim is not installed"
	e, _ := newEngine(nil)
	e.member(claims.GroupKind()).cache.Store(nil)
	if got := e.Resolve(pods.GroupKind(), newPod("a", "data"), false).Waits().Message(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if e.Get(claimData) != nil || len(e.List(claims.GroupKind())) > 0 {
		t.Error("a kind that is not served has objects")
	}
}

// TestDefaultReasons: an empty reason has the default that Reasons promises.
func TestDefaultReasons(t *testing.T) {
	const waiting = "WaitingForReference"
	for name, c := range map[string]struct{ given, want Reasons }{
		"none":    {Reasons{}, Reasons{waiting, waiting, "WriteFailed", "OwnerConflict"}},
		"waiting": {Reasons{Waiting: "W"}, Reasons{"W", "W", "WriteFailed", "OwnerConflict"}},
		"all":     {Reasons{"W", "O", "F", "R"}, Reasons{"W", "O", "F", "R"}},
	} {
		if diff := cmp.Diff(c.want, New(nil, Options{Reasons: c.given}).options.Reasons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMembers: the engine knows the objects of its kinds alone, and the scope of its kinds.
func TestMembers(t *testing.T) {
	e, stored := newEngine(nil)
	claim := bind(t, stored, "volume-1")
	node := corev1.SchemeGroupVersion.WithKind("Node")
	e.Add(Kind{GVK: node, ClusterScoped: true, Store: newStore()})
	see(t, e, node.GroupKind(), nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if e.Get(claimData) != client.Object(claim) || e.Get(object.ID{Kind: "Node", Name: "n"}) == nil {
		t.Error("an object of the stores is missing")
	}
	unknown := schema.GroupKind{Kind: "Unknown"}
	if e.Get(object.ID{Kind: "Unknown", Name: "n"}) != nil || e.List(unknown) != nil || e.Running(unknown) {
		t.Error("a kind that the engine does not have has objects")
	}
	e.Requeue(object.ID{Kind: "Unknown", Name: "n"}) // It must not panic.
	if got := e.List(claims.GroupKind()); len(got) != 1 || got[0] != client.Object(claim) {
		t.Errorf("the claims are %v", got)
	}
	for gvk, namespaced := range map[schema.GroupVersionKind]bool{node: false, pods: true} {
		if m, err := e.Mapping(gvk); err != nil || m.Namespaced != namespaced || m.Kind != gvk.Kind {
			t.Errorf("the mapping of %s is %+v, %v", gvk.Kind, m, err)
		}
	}
	if _, err := e.Mapping(unknown.WithVersion("v1")); err == nil || !strings.Contains(err.Error(), "no kind Unknown") {
		t.Errorf("the mapping of an unknown kind: %v", err)
	}
}

// TestOwned: Owned finds what an object owns, directly or through others, each once, also in a ring.
func TestOwned(t *testing.T) {
	e := New(nil, Options{})
	owns := relation.Reference{
		Name: "owns", Role: relation.Owner, Declarer: pods.GroupKind(), Path: relation.MustPath("spec.hostname"),
		Target: pods.GroupKind(),
	}.Relation()
	uses := relation.Reference{
		Name: "uses", Role: relation.Dependency, Declarer: pods.GroupKind(), Path: relation.MustPath("spec.subdomain"),
		Target: pods.GroupKind(),
	}.Relation()
	e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Relations: []relation.Relation{owns, uses}, Store: newStore()})
	for _, names := range [][3]string{ // The name, its owner, and what it uses.
		{"a", "", "z"}, {"b", "a", ""}, {"c", "b", ""}, {"d", "a", ""}, {"e", "", "a"}, {"x", "y", ""}, {"y", "x", ""},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: names[0]}}
		pod.Spec.Hostname, pod.Spec.Subdomain = names[1], names[2]
		see(t, e, pods.GroupKind(), nil, pod)
	}
	for of, want := range map[string][]string{
		"a": {"b", "d", "c"}, "b": {"c"}, "c": {}, "e": {}, "x": {"y"},
	} {
		got := []string{}
		for _, id := range e.Owned(object.ID{Kind: "Pod", Namespace: "ns", Name: of}) {
			got = append(got, id.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s owns (-want +got):\n%s", of, diff)
		}
	}
}

// TestGuards: the objects that keep a target are those whose finalizer is on the target now.
func TestGuards(t *testing.T) {
	e, stored := newEngine(nil)
	for _, name := range []string{"b", "a"} {
		see(t, e, pods.GroupKind(), nil, newPod(name, "data"))
	}
	if got := e.Guards(claimData); got != nil {
		t.Errorf("the guards of a claim that does not exist: %v", got)
	}
	claim := storeClaim(t, stored)
	claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	if got := e.Guards(claimData); len(got) > 0 {
		t.Errorf("without a guard: %v", got)
	}
	claim.Finalizers = append(claim.Finalizers, finalizer)
	got := e.Guards(claimData)
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Errorf("the guards are %v, want the Pods a and b", got)
	}
}

// TestCopyOwners: the references and labels of SetOwners are copied, and those of others are not.
func TestCopyOwners(t *testing.T) {
	e := New(nil, Options{OwnerLabels: "own.example"})
	r := relation.Reference{
		Name: "owner", Role: relation.Owner, Declarer: pods.GroupKind(), Target: claims.GroupKind(),
		Path: relation.MustPath("spec.volumes[*].persistentVolumeClaim.claimName"),
	}.Relation()
	e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Relations: []relation.Relation{r}, Store: newStore()})
	e.Add(Kind{GVK: claims, Example: &corev1.PersistentVolumeClaim{}, Store: newStore()})
	claim := storeClaim(t, e.member(claims.GroupKind()).Store)
	claim.UID = "uid-1"
	from := newPod("a", "data")
	from.Labels = map[string]string{"app": "web"}
	from.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "data", UID: "other"}}
	if o := e.SetOwners(from, e.Resolve(pods.GroupKind(), from, false)); !o.IsDone() {
		t.Fatal(o.Message())
	}
	if from.Labels["app"] != "web" || len(from.OwnerReferences) != 2 {
		t.Errorf("labels %v, owners %v", from.Labels, from.OwnerReferences)
	}
	to := &unstructured.Unstructured{Object: map[string]any{}}
	e.CopyOwners(to, pods.GroupKind(), from)
	if owners := to.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != types.UID("uid-1") {
		t.Errorf("the owners are %v, want the claim", owners)
	}
	want := map[string]string{
		"own.example/owner-name": "data", "own.example/owner-kind": "PersistentVolumeClaim", "own.example/owner-uid": "uid-1",
	}
	if diff := cmp.Diff(want, to.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	from.OwnerReferences = from.OwnerReferences[:1]
	to = &unstructured.Unstructured{Object: map[string]any{}}
	e.CopyOwners(to, pods.GroupKind(), from)
	if len(to.GetOwnerReferences()) > 0 || len(to.GetLabels()) > 0 {
		t.Errorf("without an owner: owners %v, labels %v", to.GetOwnerReferences(), to.GetLabels())
	}
}

// TestLabelValue: the value of a label is the beginning of any name that the API server accepts.
func TestLabelValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		short, long := rapid.StringMatching(`[a-z0-9]{1,63}`), rapid.StringMatching(`[a-z0-9]{50,63}[-.]{1,30}[a-z0-9]{1,30}`)
		name := rapid.OneOf(short, long).Draw(t, "name")
		got := labelValue(name)
		isWhole := len(name) > 63 || got == name
		isEnd := strings.HasSuffix(got, "-") || strings.HasSuffix(got, ".")
		if !strings.HasPrefix(name, got) || len(got) > 63 || isEnd || !isWhole {
			t.Fatalf("%q became %q", name, got)
		}
	})
}

// TestConditions: conditions are read from a typed object, an unstructured object and an adapter, and an object
// without conditions is not ready.
func TestConditions(t *testing.T) {
	is := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{
			Type: "Ready", Status: status, Reason: "R", Message: "m",
			LastTransitionTime: metav1.Now().Rfc3339Copy(),
		}}
	}
	for status, want := range map[metav1.ConditionStatus]bool{metav1.ConditionTrue: true, metav1.ConditionFalse: false} {
		u, typed := &unstructured.Unstructured{Object: map[string]any{}}, &conditioned{}
		for name, obj := range map[string]client.Object{"unstructured": u, "typed": typed} {
			if err := setConditions(obj, is(status)); err != nil {
				t.Fatal(err)
			}
			if _, ready := IsReady(obj); ready != want || cmp.Diff(is(status), conditionsOf(obj)) != "" {
				t.Errorf("%s: ready %t, conditions %v", name, ready, conditionsOf(obj))
			}
		}
		copied := conditionsOf(typed)
		copied[0].Message = "changed"
		if typed.conditions[0].Message != "m" {
			t.Error("the conditions of an object of the cache can be changed")
		}
	}
	for name, obj := range map[string]client.Object{
		"no conditions": &unstructured.Unstructured{Object: map[string]any{}},
		"another shape": &unstructured.Unstructured{Object: map[string]any{
			"status": map[string]any{"conditions": []any{map[string]any{"type": int64(7)}}},
		}},
		"no status": &corev1.ConfigMap{},
	} {
		if _, ready := IsReady(obj); ready || len(conditionsOf(obj)) > 0 {
			t.Errorf("%s: ready %t, conditions %v", name, ready, conditionsOf(obj))
		}
	}
}

// conditioned is a Conditioned.
type conditioned struct {
	corev1.ConfigMap

	conditions []metav1.Condition
}

func (c *conditioned) GetConditions() []metav1.Condition    { return c.conditions }
func (c *conditioned) SetConditions(all []metav1.Condition) { c.conditions = all }
