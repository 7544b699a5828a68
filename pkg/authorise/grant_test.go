package authorise_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// grant allows Usages of a namespace to refer to Secrets, or to one Secret.
func grant(namespace, fromNamespace string, names ...string) kinshipv1alpha1.ReferenceGrant {
	to := make([]kinshipv1alpha1.ReferenceGrantTo, max(len(names), 1))
	for i := range to {
		to[i].Kind = "Secret"
	}
	for i, name := range names {
		to[i].Name = &name
	}
	return kinshipv1alpha1.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "g"},
		Spec: kinshipv1alpha1.ReferenceGrantSpec{
			From: []kinshipv1alpha1.ReferenceGrantFrom{{Group: "g", Kind: "Usage", Namespace: fromNamespace}}, To: to,
		},
	}
}

func secret(namespace, name string) relation.Ref {
	return relation.Named(object.ID{Kind: "Secret", Namespace: namespace, Name: name})
}

func set(namespace string) relation.Ref {
	return relation.Ref{
		ID:       object.ID{Kind: "Secret", Namespace: namespace},
		Selector: &relation.Selector{Labels: map[string]string{"app": "web"}},
	}
}

func TestGranted(t *testing.T) {
	usage := object.ID{Group: "g", Kind: "Usage", Namespace: "mine", Name: "u"}
	cluster := object.ID{Group: "g", Kind: "ClusterUsage", Name: "u"}
	empty := ""
	oddName := grant("theirs", "mine")
	oddName.Spec.To[0].Name = &empty
	type grants = []kinshipv1alpha1.ReferenceGrant
	cases := map[string]struct {
		reason string
		grants grants
		from   object.ID
		to     relation.Ref
		want   bool
	}{
		"no grant":     {"nothing was agreed", nil, usage, secret("theirs", "s"), false},
		"kind":         {"all objects of the kind", grants{grant("theirs", "mine")}, usage, secret("theirs", "s"), true},
		"name":         {"that object", grants{grant("theirs", "mine", "s")}, usage, secret("theirs", "s"), true},
		"one of names": {"any of them", grants{grant("theirs", "mine", "r", "s")}, usage, secret("theirs", "s"), true},
		"other name": {
			"another object was meant", grants{grant("theirs", "mine", "r")}, usage, secret("theirs", "s"), false,
		},
		"one of grants": {
			"any of them", grants{grant("other", "mine"), grant("theirs", "mine")}, usage, secret("theirs", "s"), true,
		},
		"other namespace": {
			"a grant holds where it lies, and nobody can give what is another's",
			grants{grant("mine", "mine")},
			usage, secret("theirs", "s"), false,
		},
		"not from there": {
			"somebody else's objects were meant",
			grants{grant("theirs", "other")},
			usage, secret("theirs", "s"), false,
		},
		"not that kind": {
			"another kind refers",
			grants{grant("theirs", "mine")},
			object.ID{Group: "g", Kind: "Other", Namespace: "mine", Name: "u"},
			secret("theirs", "s"), false,
		},
		"not that group": {
			"another group's kind refers",
			grants{grant("theirs", "mine")},
			object.ID{Group: "h", Kind: "Usage", Namespace: "mine", Name: "u"},
			secret("theirs", "s"), false,
		},
		"to another kind": {
			"Secrets were meant",
			grants{grant("theirs", "mine")},
			usage, relation.Named(object.ID{Kind: "ConfigMap", Namespace: "theirs", Name: "s"}), false,
		},
		"to another group": {
			"Secrets of the core group were meant",
			grants{grant("theirs", "mine")},
			usage, relation.Named(object.ID{Group: "g", Kind: "Secret", Namespace: "theirs", Name: "s"}), false,
		},
		"set": {
			"a set may hold any object: the whole kind is granted",
			grants{grant("theirs", "mine")},
			usage, set("theirs"), true,
		},
		"set by name": {"one object is not the set", grants{grant("theirs", "mine", "s")}, usage, set("theirs"), false},
		"set by empty name": {
			"an empty name is none, and not that of a set", grants{oddName}, usage, set("theirs"), false,
		},
		"set everywhere": {"no one namespace can agree for all", grants{grant("theirs", "mine")}, usage, set(""), false},
		"cluster-scoped": {
			"it lies in no namespace, so no grant names it",
			grants{grant("theirs", "mine")},
			cluster, secret("theirs", "s"), false,
		},
		"nothing meant": {
			"a grant without entries",
			grants{{ObjectMeta: metav1.ObjectMeta{Namespace: "theirs"}}},
			usage, secret("theirs", "s"), false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := authorise.Granted(c.grants, c.from, c.to); got != c.want {
				t.Errorf("%s: got %t", c.reason, got)
			}
		})
	}
}

func ExampleGranted() {
	usage := object.ID{Group: "g", Kind: "Usage", Namespace: "mine", Name: "u"}
	grants := []kinshipv1alpha1.ReferenceGrant{grant("theirs", "mine", "db-password")}
	fmt.Println(authorise.Granted(grants, usage, secret("theirs", "db-password")))
	fmt.Println(authorise.Granted(grants, usage, secret("theirs", "admin-password")))
	// Output:
	// true
	// false
}
