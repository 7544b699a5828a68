package lineage

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// userText writes a user in short: who, by which declarer if another object declares, and what follows.
func userText(u User) string {
	text := "nobody"
	if u.Object != nil {
		text = u.Object.Short()
	}
	if u.Object == nil || *u.Object != u.Declarer {
		text += " by " + u.Declarer.Short()
	}
	for _, part := range [][2]string{{"finalizer", u.Finalizer}, {"content", u.Content}, {"reason", u.Reason}} {
		if part[1] != "" {
			text += " " + part[0] + " " + part[1]
		}
	}
	if u.Made > 0 {
		text += strings.Repeat(" made", u.Made)
	}
	if !u.InForce {
		return text + ": " + u.Why
	}
	return text + ": in force"
}

// TestUsers lists who uses an object, and whether the use prevents the deletion of the object.
func TestUsers(t *testing.T) {
	effective := withConditions(condition1("Effective", "True", "", ""))
	withReason := func(n *Node) {
		n.full = &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"reason": "forever"}}}
	}
	pod, usage := named(podKind, "web", whole), named(usageKind, "u", whole, effective)
	kept, free := named(claimKind, "kept", withFinalizers(claimGuard), whole), named(claimKind, "free", whole)
	network, port := named(networkKind, "net", withFinalizers(portGuard), whole), waiting("port")
	secret := named(secretKind, "db", whole)
	byUsage := relation.Edge{
		Relation: "usage", Role: relation.Usage, Declarer: usage.ID, Source: relation.Named(pod.ID),
		Target: relation.Named(free.ID),
	}
	content := relation.Named(free.ID)
	inside := byUsage
	inside.Target, inside.Content = relation.Named(network.ID), &content
	another := byUsage
	another.SourceUID = "former"
	own := named(usageKind, "own", withReason, effective)
	deployment := named(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", whole)
	made := named(podKind, "made", whole, controlledBy("apps/v1", "Deployment", "web"))
	cases := map[string]struct {
		reason string
		of     *Node
		edges  []relation.Edge
		trial  Trial
		want   []string
	}{
		"none": {"an answer for programs is a list, not null", free, nil, Trial{}, []string{}},
		"held": {
			"the finalizer is there", kept,
			[]relation.Edge{edge("pod-claim", relation.Dependency, pod, kept)},
			Trial{},
			[]string{"Pod/web finalizer " + claimGuard + ": in force"},
		},
		"not held": {
			"the finalizer was removed", free,
			[]relation.Edge{edge("pod-claim", relation.Dependency, pod, free)},
			Trial{},
			[]string{"Pod/web finalizer " + claimGuard + ": finalizer " + claimGuard + " is missing"},
		},
		"a plain reference": {
			"the relation has no finalizer", secret,
			[]relation.Edge{edge("pod-secret", relation.Dependency, pod, secret)},
			Trial{},
			[]string{"Pod/web: a reference, which does not prevent deletion"},
		},
		"a guard": {
			"a relation of a pack", network,
			[]relation.Edge{edge("port-network", relation.Dependency, port, network)},
			Trial{},
			[]string{"Port/port finalizer " + portGuard + ": in force"},
		},
		"composed": {
			"the object that renders another is no user", secret,
			[]relation.Edge{edge("port-plain", relation.Composition, port, secret)},
			Trial{},
			[]string{},
		},
		"by a Usage": {
			"the API server refuses", free,
			[]relation.Edge{byUsage},
			Trial{Outcome: Refused},
			[]string{"Pod/web by Usage/u: in force"},
		},
		"by a Usage that refuses nothing": {
			"the webhook configuration is gone", free,
			[]relation.Edge{byUsage},
			Trial{Outcome: Allowed},
			[]string{"Pod/web by Usage/u: the API server would delete it now: the webhook configuration or policy that " +
				"refuses deletions is missing or exempts you"},
		},
		"by a Usage without a user": {
			"the declarer gives the reason", free,
			[]relation.Edge{{Relation: "usage", Role: relation.Usage, Declarer: own.ID, Target: relation.Named(free.ID)}},
			Trial{Outcome: Refused},
			[]string{"nobody by Usage/own reason forever: in force"},
		},
		"around the protected object": {
			"the claim inside is protected", network,
			[]relation.Edge{inside},
			Trial{Outcome: Refused},
			[]string{"Pod/web by Usage/u content PersistentVolumeClaim/free in namespace shop: in force"},
		},
		"made": {
			"the Pod of a Deployment is counted", secret,
			[]relation.Edge{
				edge("deployment-secret", relation.Dependency, deployment, secret),
				edge("pod-secret", relation.Dependency, made, secret),
			},
			Trial{},
			[]string{"Deployment/web made: a reference, which does not prevent deletion"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know([]*Node{pod, usage, kept, free, network, port, secret, own, deployment, made}, tc.edges...)
			if tc.trial.Outcome != "" {
				x.trials.Store(tc.of, tc.trial)
			}
			answer, err := x.Users(t.Context(), tc.of)
			if err != nil || answer.Users == nil || answer.Object != tc.of.ID {
				t.Fatalf("%s: users %v of %s, error %v", tc.reason, answer.Users, answer.Object, err)
			}
			got := []string{}
			for _, u := range answer.Users {
				got = append(got, userText(u))
			}
			compare(t, tc.reason, tc.want, got)
			if tried := answer.Deletion != nil; tried != (tc.trial.Outcome != "") || tried && *answer.Deletion != tc.trial {
				t.Errorf("%s: the trial is %v", tc.reason, answer.Deletion)
			}
		})
	}
}

// TestUsersLocked: the label of a lock stands for users that the caller may not list.
func TestUsersLocked(t *testing.T) {
	kept := named(configKind, "kept", func(n *Node) { n.Labels = map[string]string{"in-use": "true"} })
	x := decider(func(o *Options) { o.Locks = []Lock{{"in-use", "true", []schema.GroupKind{usageKind}}} })
	x.skipped = []Skipped{{Group: usageKind.Group, Resource: "*", Reason: "forbidden"}}
	answer, err := x.Users(t.Context(), kept)
	if err != nil || answer.Locked != "in-use" {
		t.Errorf("locked by %q, error %v", answer.Locked, err)
	}
	compare(t, "the deletion is tried", &Trial{Untried, "the cluster serves no such kind"}, answer.Deletion)
	compare(t, "skipped", x.skipped, answer.Skipped)
}

// TestSourcesAreReplaced: a source with another uid than the edge names is gone, although an object has its
// name now.
func TestSourcesAreReplaced(t *testing.T) {
	x, user := decider(), named(configKind, "user", whole)
	x.know([]*Node{user})
	for uid, want := range map[types.UID]Status{"": Current, "user": Current, "former": NotFound} {
		got := x.sources(t.Context(), relation.Edge{Source: relation.Named(user.ID), SourceUID: uid})
		if len(got) != 1 || got[0].Status != want || got[0].ID != user.ID {
			t.Errorf("with uid %q: %+v, want %s", uid, got[0], want)
		}
	}
	if user.Status != Current || x.node(user.ID) != user {
		t.Error("the object that has the name now was changed")
	}
}

// TestTreeOfDeclared draws edges that a list of objects does not show: what a Usage protects, what contains a
// protected object, and the references of Kubernetes' own kinds.
func TestTreeOfDeclared(t *testing.T) {
	effective := withConditions(condition1("Effective", "True", "", ""))
	usage := named(usageKind, "u", whole, effective)
	user, used := named(configKind, "user", whole), named(configKind, "used", whole)
	space := named(namespaceKind, "space", whole)
	byUsage := relation.Edge{
		Relation: "usage", Role: relation.Usage, Declarer: usage.ID, Source: relation.Named(user.ID),
		Target: relation.Named(used.ID),
	}
	content := relation.Named(used.ID)
	inside := byUsage
	inside.Target, inside.Content = relation.Named(space.ID), &content
	secret := named(secretKind, "db", whole)
	deployment := named(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", whole)
	pod := named(podKind, "made", whole, controlledBy("apps/v1", "Deployment", "web"))
	port := named(portKind, "p", whole, effective)
	part := named(configKind, "part", whole, ownedBy(metav1.OwnerReference{
		APIVersion: "openstack.k-orc.cloud/v1alpha1", Kind: "Port", Name: "p", UID: "p",
	}))
	references := []relation.Edge{
		edge("deployment-secret", relation.Dependency, deployment, secret),
		edge("pod-secret", relation.Dependency, pod, secret),
	}
	composed := []relation.Edge{
		edge("port-plain", relation.Composition, port, part), edge("port-plain", relation.Composition, port, user),
	}
	all := []relation.Edge{byUsage, inside}
	cases := map[string]struct {
		reason string
		root   *Node
		edges  []relation.Edge
		trial  Outcome
		want   []string
	}{
		"a Usage": {
			"both ends are shown", usage, all, Refused,
			[]string{"Usage/u", "  protects ConfigMap/used in force", "  for ConfigMap/user in force"},
		},
		"a Usage that refuses nothing": {
			"the edge to the user is not in force either", usage, all, Allowed,
			[]string{"Usage/u", "  protects ConfigMap/used", "  for ConfigMap/user"},
		},
		"a namespace": {
			"the namespace holds the object of the Usage", space, all, Refused,
			[]string{"Namespace/space", "  holds Usage/u in force"},
		},
		"a Deployment": {
			"the reference of the template is shown once", deployment, references, Refused,
			[]string{"Deployment/web", "  owns Pod/made in force", "  needs Secret/db in force"},
		},
		"a Secret": {
			"the Deployment stands for its Pods", secret, references, Refused,
			[]string{"Secret/db", "  needed by Deployment/web in force"},
		},
		"a composer": {
			"what the object owns is not shown twice", port, composed, Refused,
			[]string{"Port/p", "  owns ConfigMap/part in force", "  composes ConfigMap/user in force"},
		},
		"a composed object": {
			"the tree of owned objects has no owner", part, composed, Refused, []string{"ConfigMap/part"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := decider()
			x.know([]*Node{usage, user, used, space, secret, deployment, pod, port, part}, tc.edges...)
			x.trials.Store(used, Trial{Outcome: tc.trial})
			x.trials.Store(space, Trial{Outcome: tc.trial})
			tree, err := x.Tree(t.Context(), tc.root, TreeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			tree.Walk(func(b *Branch) {
				line := b.Node.ID.Short()
				if b.Edge != nil {
					line = "  " + string(b.Via) + " " + line
					if b.Edge.Force.InForce {
						line += " in force"
					}
				}
				got = append(got, line)
			})
			compare(t, tc.reason, tc.want, got)
		})
	}
	if !isEnd(byUsage, user.ID) || !isEnd(byUsage, used.ID) || isEnd(byUsage, usage.ID) || isEnd(byUsage, object.ID{}) {
		t.Error("the ends of an edge are its source and its target")
	}
}
