package authorise

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks())
}

// roles gives rights to users, most of them in namespace here.
const roles = `
apiVersion: v1
kind: Namespace
metadata: {name: here}
---
apiVersion: v1
kind: Namespace
metadata: {name: there}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: delete-all}
rules: [{apiGroups: [""], resources: [configmaps, namespaces], verbs: [delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: delete-one}
rules: [{apiGroups: [""], resources: [configmaps, namespaces], resourceNames: [one], verbs: [delete]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: by-name, namespace: here}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delete-one}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: by-name}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: by-kind, namespace: here}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delete-all}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: by-kind}
- {apiGroup: rbac.authorization.k8s.io, kind: Group, name: deleters}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: everywhere}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delete-all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: everywhere}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: one-namespace}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delete-one}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: one-namespace}]
`

func reviews(t *testing.T) authorizationclient.SubjectAccessReviewInterface {
	t.Helper()
	c, err := kubernetes.NewForConfig(testenv.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return c.AuthorizationV1().SubjectAccessReviews()
}

// reviewer returns a Reviewer that lives by a clock.
func reviewer(t *testing.T, c clock.PassiveClock) *Reviewer {
	t.Helper()
	return &Reviewer{client: reviews(t), answers: cache.NewLRUExpireCacheWithClock(maxAnswers, c)}
}

func user(name string, groups ...string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: name, Groups: groups}
}

func deleting(resource, namespace, name string) Action {
	return Action{Verb: "delete", Resource: resource, Namespace: namespace, Name: name}
}

func allowed(t *testing.T, r *Reviewer, u authenticationv1.UserInfo, actions ...Action) bool {
	t.Helper()
	ok, err := r.Allowed(t.Context(), u, actions...)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// grantRoles applies the roles and waits until the API server uses them.
func grantRoles(t *testing.T) {
	t.Helper()
	testenv.Apply(t, roles)
	for name, a := range map[string]Action{
		"by-name": deleting("configmaps", "here", "one"), "by-kind": deleting("configmaps", "here", ""),
		"everywhere": deleting("configmaps", "", ""), "one-namespace": deleting("namespaces", "", "one"),
	} {
		rule := rbacv1.PolicyRule{Verbs: []string{a.Verb}, APIGroups: []string{""}, Resources: []string{a.Resource}}
		if a.Name != "" {
			rule.ResourceNames = []string{a.Name}
		}
		testenv.AwaitRights(t, name, a.Namespace, true, rule)
	}
}

func TestAllowed(t *testing.T) {
	grantRoles(t)
	one, two := deleting("configmaps", "here", "one"), deleting("configmaps", "here", "two")
	all := deleting("configmaps", "here", "")
	cases := map[string]struct {
		reason  string
		user    authenticationv1.UserInfo
		actions []Action
		want    bool
	}{
		"nobody":           {"no rights", user("nobody"), []Action{one}, false},
		"by name, that":    {"the object is named in the role", user("by-name"), []Action{one}, true},
		"by name, another": {"another is not", user("by-name"), []Action{two}, false},
		"by name, all":     {"one object is not all", user("by-name"), []Action{all}, false},
		"by kind, one":     {"all include one", user("by-kind"), []Action{one}, true},
		"by kind, all":     {"the kind in the namespace", user("by-kind"), []Action{all}, true},
		"by kind, elsewhere": {
			"the right ends with the namespace",
			user("by-kind"),
			[]Action{deleting("configmaps", "there", "one")},
			false,
		},
		"by kind, everywhere": {
			"one namespace is not all", user("by-kind"), []Action{deleting("configmaps", "", "")}, false,
		},
		"by kind, other verb": {
			"the verb counts",
			user("by-kind"),
			[]Action{{Verb: "get", Resource: "configmaps", Namespace: "here"}},
			false,
		},
		"by kind, other kind": {"the kind counts", user("by-kind"), []Action{deleting("secrets", "n", "one")}, false},
		"by kind, other group": {
			"the group counts",
			user("by-kind"),
			[]Action{{Verb: "delete", Group: "g", Resource: "configmaps", Namespace: "here"}},
			false,
		},
		"by group":   {"groups give rights", user("someone", "x", "deleters"), []Action{all}, true},
		"everywhere": {"all namespaces", user("everywhere"), []Action{deleting("configmaps", "", "")}, true},
		"everywhere, there": {
			"all include each", user("everywhere"), []Action{deleting("configmaps", "there", "two")}, true,
		},
		"cluster-scoped":      {"no namespace", user("everywhere"), []Action{deleting("namespaces", "", "here")}, true},
		"cluster-scoped, one": {"by name", user("one-namespace"), []Action{deleting("namespaces", "", "one")}, true},
		"cluster-scoped, two": {"another name", user("one-namespace"), []Action{deleting("namespaces", "", "two")}, false},
		"both":                {"all actions are allowed", user("by-kind"), []Action{one, two}, true},
		"one of two":          {"one is not", user("by-name"), []Action{one, two}, false},
		"the other of two":    {"one is not", user("by-name"), []Action{two, one}, false},
		"none":                {"who asks for nothing may do it", user("nobody"), nil, true},
	}
	shared := reviewer(t, clock.RealClock{}) // The answers for one user must not be used for another user.
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if got := allowed(t, shared, c.user, c.actions...); got != c.want {
					t.Errorf("%s: got %t", c.reason, got)
				}
			}
		})
	}
}

// counter counts the reviews.
type counter struct {
	authorizationclient.SubjectAccessReviewInterface

	sent int
}

func (c *counter) Create(
	ctx context.Context, review *authorizationv1.SubjectAccessReview, opts metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	c.sent++
	return c.SubjectAccessReviewInterface.Create(ctx, review, opts)
}

// TestAnswersAreKept counts the reviews.
func TestAnswersAreKept(t *testing.T) {
	grantRoles(t)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := reviewer(t, now)
	asked := &counter{SubjectAccessReviewInterface: r.client}
	r.client = asked
	names := make([]Action, 100)
	for i := range names {
		names[i] = deleting("configmaps", "here", fmt.Sprint(i))
	}
	steps := []struct {
		reason string
		do     func()
		want   int
	}{
		{"the answer for the kind serves for every object", func() { allowed(t, r, user("by-kind"), names...) }, 1},
		{"it is still believed", func() { allowed(t, r, user("by-kind"), names...) }, 0},
		{"the order of groups means nothing", func() {
			allowed(t, r, user("x", "a", "b"), names[0])
			allowed(t, r, user("x", "b", "a"), names[0])
		}, 2},
		{"other groups are another user", func() { allowed(t, r, user("x", "a"), names[0]) }, 2},
		{"who may not do all is asked for by name", func() {
			allowed(t, r, user("by-name"), deleting("configmaps", "here", "one"))
			allowed(t, r, user("by-name"), deleting("configmaps", "here", "two"))
		}, 3},
		{"a refusal is believed too", func() { allowed(t, r, user("by-name"), deleting("configmaps", "here", "two")) }, 0},
		{"not for ever", func() {
			now.SetTime(now.Now().Add(answerTTL + time.Millisecond))
			allowed(t, r, user("by-kind"), names...)
		}, 1},
	}
	for _, s := range steps {
		before := asked.sent
		s.do()
		if n := asked.sent - before; n != s.want {
			t.Errorf("%s: %d requests, want %d", s.reason, n, s.want)
		}
	}
}

// TestRightsTakenAway: a lost right is noticed when the kept answer has expired, and not
// before.
func TestRightsTakenAway(t *testing.T) {
	grantRoles(t)
	binding := testenv.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: for-a-while, namespace: here}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: delete-all}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: for-a-while}]
`)[0]
	c := testenv.Client(t, nil)
	now := clocktesting.NewFakePassiveClock(time.Now())
	r := reviewer(t, now)
	u, action := user("for-a-while"), deleting("configmaps", "here", "one")
	live := func(want bool) {
		t.Helper()
		testenv.Eventually(t, func() error {
			if allowed(t, NewReviewer(reviews(t)), u, action) != want {
				return fmt.Errorf("the API server does not say %t yet", want)
			}
			return nil
		})
	}
	live(true)
	if !allowed(t, r, u, action) {
		t.Fatal("not allowed")
	}
	if err := c.Delete(t.Context(), binding); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	live(false)
	now.SetTime(now.Now().Add(answerTTL - time.Millisecond))
	if !allowed(t, r, u, action) {
		t.Error("the answer was not kept as long as promised")
	}
	now.SetTime(now.Now().Add(2 * time.Millisecond))
	if allowed(t, r, u, action) {
		t.Error("the right is gone, and the old answer still believed")
	}
}

func TestAllowedFails(t *testing.T) {
	c, err := kubernetes.NewForConfig(testenv.As(t, "powerless"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReviewer(c.AuthorizationV1().SubjectAccessReviews())
	ok, err := r.Allowed(t.Context(), user("alice"), deleting("configmaps", "here", "one"))
	if ok || err == nil {
		t.Fatalf("allowed %t, error %v: who can't ask must not allow", ok, err)
	}
	const want = "ask whether alice may delete configmaps: "
	if got := err.Error(); got[:min(len(got), len(want))] != want {
		t.Errorf("error %q, want %q first", got, want)
	}
	if n := len(r.answers.Keys()); n > 0 {
		t.Errorf("%d answers kept of questions that were not answered", n)
	}
}

// TestIdentityTellsUsersApart holds that no user gets an answer that was given to
// another, whatever characters names, groups and extras are made of.
func TestIdentityTellsUsersApart(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("a\" \x00\x01")), 0, 2, -1)
	users := rapid.Custom(func(t *rapid.T) authenticationv1.UserInfo {
		u := authenticationv1.UserInfo{
			Username: text.Draw(t, "name"), UID: text.Draw(t, "uid"),
			Groups: rapid.SliceOfN(text, 0, 2).Draw(t, "groups"),
		}
		extra := rapid.MapOfN(text, rapid.SliceOfN(text, 0, 2), 0, 2).Draw(t, "extra")
		for k, v := range extra {
			if u.Extra == nil {
				u.Extra = map[string]authenticationv1.ExtraValue{}
			}
			u.Extra[k] = v
		}
		return u
	})
	rapid.Check(t, func(t *rapid.T) {
		seen := map[string]authenticationv1.UserInfo{}
		for _, u := range rapid.SliceOfN(users, 2, 50).Draw(t, "users") {
			if other, ok := seen[identity(u)]; ok && !sameUser(u, other) {
				t.Fatalf("%q stands for two users:\n%+v\n%+v", identity(u), u, other)
			}
			seen[identity(u)] = u
			slices.Reverse(u.Groups)
			if _, ok := seen[identity(u)]; !ok {
				t.Fatalf("the order of groups counts: %+v", u)
			}
		}
	})
	for name, pair := range map[string][2]authenticationv1.UserInfo{
		"uid in the name":  {{Username: "a\x00b"}, {Username: "a", UID: "b\x00"}},
		"a group as extra": {{Groups: []string{"k\x01v"}}, {Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}},
		"two groups":       {{Groups: []string{"a", "b"}}, {Groups: []string{"a\x00b"}}},
		"two values": {
			{Extra: map[string]authenticationv1.ExtraValue{"k": {"v", "w"}}},
			{Extra: map[string]authenticationv1.ExtraValue{"k": {"v\x01w"}}},
		},
	} {
		if identity(pair[0]) == identity(pair[1]) {
			t.Errorf("%s: %q stands for two users", name, identity(pair[0]))
		}
	}
}

func sameUser(a, b authenticationv1.UserInfo) bool {
	groupsA, groupsB := slices.Sorted(slices.Values(a.Groups)), slices.Sorted(slices.Values(b.Groups))
	return a.Username == b.Username && a.UID == b.UID && slices.Equal(groupsA, groupsB) &&
		maps.EqualFunc(a.Extra, b.Extra, slices.Equal[authenticationv1.ExtraValue])
}

func TestExtra(t *testing.T) {
	u := authenticationv1.UserInfo{Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a", "b"}}}
	got := extra(u)
	if len(got) != 1 || !slices.Equal(got["scopes"], authorizationv1.ExtraValue{"a", "b"}) {
		t.Errorf("extra %v: webhooks authorise by it", got)
	}
}
