package engine

import (
	"net"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientrest "k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

const finalizer = "example.com/pod"

var (
	pods       = corev1.SchemeGroupVersion.WithKind("Pod")
	claims     = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	secrets    = corev1.SchemeGroupVersion.WithKind("Secret")
	toClaim    = reference("PodClaim", "spec.volumes[*].persistentVolumeClaim.claimName", claims)
	toSecret   = reference("PodSecret", "spec.volumes[*].secret.secretName", secrets)
	claimData  = object.ID{Kind: "PersistentVolumeClaim", Namespace: "ns", Name: "data"}
	secretKeys = object.ID{Kind: "Secret", Namespace: "ns", Name: "keys"}
)

// reference returns the relation that a field of a Pod makes.
func reference(name, path string, target schema.GroupVersionKind) relation.Relation {
	return relation.Reference{
		Name: name, Role: relation.Dependency, Declarer: pods.GroupKind(), Path: relation.MustPath(path),
		Target: target.GroupKind(), Finalizer: finalizer,
	}.Relation()
}

// newEngine returns an engine in which Pods refer to claims and Secrets, and the store of claims.
func newEngine(live client.Client, change ...func(*relation.Relation)) (*Engine, toolscache.Store) {
	e := New(nil, Options{Name: "example.com", Live: live})
	relations := []relation.Relation{toClaim, toSecret}
	for _, c := range change {
		c(&relations[0])
	}
	stored := toolscache.NewStore(toolscache.MetaNamespaceKeyFunc)
	e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Relations: relations, Store: newStore()})
	e.Add(Kind{GVK: claims, Example: &corev1.PersistentVolumeClaim{}, Ready: isBound, Store: stored})
	e.Add(Kind{GVK: secrets, Store: newStore()})
	return e, stored
}

func newStore() toolscache.Store { return toolscache.NewStore(toolscache.MetaNamespaceKeyFunc) }

// isBound is the Kind.Ready of a claim: a claim is ready once it is bound, and its Value is the
// name of its volume.
func isBound(obj client.Object) (id string, ready bool) {
	claim := obj.(*corev1.PersistentVolumeClaim)
	return claim.Spec.VolumeName, claim.Status.Phase == corev1.ClaimBound
}

// newPod returns a Pod that has a claim mounted.
func newPod(name, claim string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}},
	}
}

// unreachable returns a client of an API server that does not answer.
func unreachable(t *testing.T) client.Client {
	t.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(pods, meta.RESTScopeNamespace)
	c, err := client.New(&clientrest.Config{Host: closed.Addr().String()}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestInUse: a guard is not taken off on the word of a watch that may have missed a source.
func TestInUse(t *testing.T) {
	const came, went = true, false
	type change struct {
		pod string
		is  bool
	}
	cases := map[string]struct {
		reason  string
		changes []change
		want    bool
		unknown bool
	}{
		"never seen":      {"whether a Pod refers to the claim is not known", nil, false, true},
		"referred to":     {"a watch has shown a Pod, which is enough", []change{{"a", came}}, true, false},
		"the last went":   {"a watch has shown the last Pod leave", []change{{"a", came}, {"a", went}}, false, false},
		"one went of two": {"the other Pod is still there", []change{{"a", came}, {"b", came}, {"a", went}}, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e, stored := newEngine(unreachable(t))
			storeClaim(t, stored)
			for _, change := range c.changes {
				event := watch.Change[client.Object]{Old: newPod(change.pod, "data")}
				if change.is {
					event = watch.Change[client.Object]{New: newPod(change.pod, "data")}
				}
				e.Observe(pods.GroupKind(), event)
			}
			for range 2 { // A failure must not be taken for an answer later.
				got, err := e.inUse(t.Context(), claimData, finalizer)
				asked := err != nil && strings.Contains(err.Error(), "list who refers to PersistentVolumeClaim/")
				if got != c.want || asked != c.unknown || (err != nil && !asked) {
					t.Errorf("%s: in use %t, %v", c.reason, got, err)
				}
			}
		})
	}
}

// TestStopsReferring: a Pod that mounts another claim than before does not use the former
// claim.
func TestStopsReferring(t *testing.T) {
	e, stored := newEngine(unreachable(t))
	storeClaim(t, stored)
	before, now := newPod("a", "data"), newPod("a", "other")
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{New: before})
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{Old: before, New: now})
	if used, err := e.inUse(t.Context(), claimData, finalizer); used || err != nil {
		t.Errorf("the former claim is in use: %t, %v", used, err)
	}
	other := claimData
	other.Name = "other"
	if sources := e.Sources(other, ""); len(sources) != 1 || sources[0].Name != "a" {
		t.Errorf("sources of the present claim: %v", sources)
	}
}

// storeClaim puts the claim data into a store.
func storeClaim(t *testing.T, stored toolscache.Store) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}}
	if err := stored.Add(claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// TestUnusedIsBounded: a Pod that names one claim after the other, none of which exists, leaves no
// records. The record of a claim that exists goes with the claim, so that a later claim of the name
// is guarded again.
func TestUnusedIsBounded(t *testing.T) {
	e, stored := newEngine(unreachable(t))
	before := newPod("a", "0")
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{New: before})
	refer := func(claim string) {
		now := newPod("a", claim)
		e.Observe(pods.GroupKind(), watch.Change[client.Object]{Old: before, New: now})
		before = now
	}
	for _, name := range []string{"1", "2", "3", "data"} {
		refer(name)
	}
	if n := len(e.unused); n > 0 {
		t.Errorf("%d records of claims that do not exist", n)
	}
	claim := storeClaim(t, stored)
	e.Observe(claims.GroupKind(), watch.Change[client.Object]{New: claim})
	refer("1")
	if !e.isUnused(guarded{claimData, finalizer}) {
		t.Error("no record of the claim that the Pod no longer names")
	}
	if err := stored.Delete(claim); err != nil {
		t.Fatal(err)
	}
	e.Observe(claims.GroupKind(), watch.Change[client.Object]{Old: claim})
	if n := len(e.unused); n > 0 {
		t.Errorf("%d records after the claim is gone", n)
	}
}

// TestContentChanged: of Secrets only the metadata is known. Guards of the engine are no reason to
// requeue the sources, and every other change is.
func TestContentChanged(t *testing.T) {
	secret := func(version string, finalizers ...string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: version, Finalizers: finalizers}}
	}
	const other, foreign = "example.com/port", "elsewhere.example/foreign"
	cases := map[string]struct {
		reason   string
		old, now client.Object
		want     bool
	}{
		"new":                {"the content is not known", nil, secret("2"), true},
		"again":              {"a watch began anew", nil, secret("1"), false},
		"edited":             {"the metadata does not say in which field", secret("1"), secret("2"), true},
		"the same":           {"a watch repeats itself", secret("1"), secret("1"), false},
		"guarded":            {"by the engine, in a request of its own", secret("1"), secret("2", finalizer), false},
		"guarded twice":      {"by two kinds of the engine", secret("1", finalizer), secret("2", finalizer, other), false},
		"foreign":            {"in a request that may change more", secret("1"), secret("2", foreign), true},
		"ours and a foreign": {"one finalizer is not ours", secret("1"), secret("2", finalizer, foreign), true},
		"released":           {"and perhaps stripped by an edit", secret("1", finalizer), secret("2"), true},
		"one for another":    {"one finalizer went", secret("1", finalizer), secret("2", other), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(nil)
			e.known.Load().guards = append(e.known.Load().guards, other)
			e.contents[secretKeys] = "1"
			if got := e.contentChanged(secretKeys, c.old, c.now); got != c.want {
				t.Errorf("%s: %t, want %t", c.reason, got, c.want)
			}
			if same := e.content(secretKeys) == "1"; same == c.want {
				t.Errorf("%s: the version is %s", c.reason, e.content(secretKeys))
			}
		})
	}
}

// TestNeeds: the wait for a target, before and after its source is complete.
func TestNeeds(t *testing.T) {
	of := func(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "ns"}}
		change(claim)
		return claim
	}
	begun := func(*corev1.PersistentVolumeClaim) {}
	made := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "1" }
	bound := func(c *corev1.PersistentVolumeClaim) {
		made(c)
		c.Status.Phase = corev1.ClaimBound
	}
	leaving := func(c *corev1.PersistentVolumeClaim) {
		bound(c)
		c.DeletionTimestamp = &metav1.Time{}
	}
	later := func(r *relation.Relation) { r.Later = true }
	const (
		created = "Waiting for PersistentVolumeClaim/data to be created"
		readied = "Waiting for PersistentVolumeClaim/data to be ready"
	)
	cases := map[string]struct {
		reason        string
		claim         *corev1.PersistentVolumeClaim
		later         bool
		before, after string
	}{
		"absent":           {"there is no claim", nil, false, created, created},
		"made":             {"the claim is not bound", of(made), false, readied, readied},
		"bound":            {"the claim can be used", of(bound), false, "", ""},
		"leaving":          {"no new Pod is to use the claim", of(leaving), false, readied, ""},
		"later, absent":    {"the claim completes the Pod", nil, true, "", created},
		"later, made":      {"the claim may wait for the Pod", of(made), true, "", ""},
		"later, not begun": {"the claim has no volume", of(begun), true, "", readied},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var change []func(*relation.Relation)
			if c.later {
				change = append(change, later)
			}
			e, stored := newEngine(nil, change...)
			if c.claim != nil {
				if err := stored.Add(c.claim); err != nil {
					t.Fatal(err)
				}
			}
			for complete, want := range map[bool]string{false: c.before, true: c.after} {
				refs := e.Resolve(pods.GroupKind(), newPod("a", "data"), complete)
				if got := refs.Waits().Message(); got != want {
					t.Errorf("%s: complete %t: %q, want %q", c.reason, complete, got, want)
				}
			}
		})
	}
}

// TestReplacedUnseen: a watch that was cut off tells of another object of the name as of a
// change. The engine takes that for the end of the former and the beginning of the present object.
func TestReplacedUnseen(t *testing.T) {
	var told []string
	e := New(nil, Options{})
	tell := func(_ object.ID, c watch.Change[client.Object]) {
		if c.Deleted() {
			told = append(told, "gone "+string(c.Old.GetUID()))
		}
	}
	e.Add(Kind{GVK: pods, Example: &corev1.Pod{}, Store: newStore(), Observe: tell})
	of := func(uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: uid}}
	}
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{New: of("first")})
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{Old: of("first"), New: of("second")})
	e.Observe(pods.GroupKind(), watch.Change[client.Object]{Old: of("second"), New: of("second")})
	if !slices.Equal(told, []string{"gone first"}) {
		t.Errorf("told: %v", told)
	}
}

// TestDecideOwner: every case of an owner reference from a Pod to the claim data with uid 1.
func TestDecideOwner(t *testing.T) {
	owner := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "ns", UID: "1"}}
	to := func(kind, name, uid string) []metav1.OwnerReference {
		controls := true
		return []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid), Controller: &controls}}
	}
	cases := map[string]struct {
		namespace  string
		references []metav1.OwnerReference
		want       ownership
	}{
		"no reference":                  {"ns", nil, unowned},
		"the owner's uid":               {"ns", to("PersistentVolumeClaim", "data", "1"), owned},
		"a former owner of the name":    {"ns", to("PersistentVolumeClaim", "data", "0"), succeeded},
		"another controller":            {"ns", to("ReplicaSet", "web", "2"), taken},
		"an owner in another namespace": {"elsewhere", nil, apart},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "a", OwnerReferences: c.references}}
			if got := decideOwner(pod, owner, claims.GroupKind()); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}
