package chaos_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestReadYourWrite creates a Usage and deletes its used object at once, many times. Either the
// deletion is refused, or the Usage was not Ready before, and never becomes Ready.
func TestReadYourWrite(t *testing.T) {
	operator.Start(t)
	s := newScene(t)
	n := sized(200)
	configMaps := s.watch(&corev1.ConfigMapList{}, nil)
	usages := s.watch(&protectionv1beta1.UsageList{}, nil)
	refused := 0
	for i := range n {
		s.create(s.used(i), s.using(i), s.usage(i))
		for range i % 5 { // Reads take about as long as the operator's writes.
			_ = s.isReady(i)
		}
		err := s.c.Delete(t.Context(), s.used(i))
		switch {
		case apierrors.IsConflict(err):
			refused++
		case err != nil:
			t.Errorf("delete used-%d: %v", i, err)
		}
	}
	t.Logf("%d of %d deletions were refused", refused, n)
	if refused == 0 || refused == n {
		t.Logf("the race was never close: it is always won by the same side")
	}
	for i := range n { // In any case, the deletion of the using object ends the Usage.
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, func() error { // Watches are late.
		if got := usages.count(watch.Deleted); got != n {
			return fmt.Errorf("%d of %d Usages were seen to go", got, n)
		}
		if got, want := configMaps.count(watch.Deleted), n-refused; got != want {
			return fmt.Errorf("%d of %d ConfigMaps were seen to go", got, want)
		}
		return nil
	})
	for i := range n {
		s.checkNeverViolated(i, configMaps, usages)
	}
}

// checkNeverViolated compares when a Usage was Ready with when the object went:
// versions are in the order in which the store took the writes.
func (s scene) checkNeverViolated(i int, configMaps, usages *record) {
	s.t.Helper()
	gone := 0
	for _, state := range configMaps.of(s.key("used", i)) {
		if state.event == watch.Deleted {
			gone = version(s.t, state.obj)
		}
	}
	using := 0
	for _, state := range usages.of(s.key("usage", i)) {
		if state.obj.GetDeletionTimestamp() != nil {
			using = version(s.t, state.obj)
			break
		}
		if gone == 0 || readiness(state.obj.(*protectionv1beta1.Usage)) != nil {
			continue
		}
		if now := version(s.t, state.obj); now > gone {
			s.t.Errorf("usage-%d was Ready at %d, used-%d was deleted before, at %d", i, now, i, gone)
		} else {
			s.t.Errorf("usage-%d was Ready at %d, and yet used-%d was deleted at %d, while used", i, now, i, gone)
		}
	}
	if gone > 0 && using == 0 {
		s.t.Errorf("usage-%d was not seen to end", i)
	}
}

func version(t *testing.T, obj client.Object) int {
	t.Helper()
	v, err := strconv.Atoi(obj.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBlindStart keeps a new operator from reading Usages and ReferenceGrants while it already
// answers the webhooks. This operator has no Usages in its cache, and must refuse: for a
// composed Usage that waits for its using object, for a Usage with a ReferenceGrant, and for a
// plain Usage.
func TestBlindStart(t *testing.T) {
	first := operator.Start(t)
	s, other := newScene(t), testenv.Namespace(t)
	s.pairs(2)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "foreign"}}
	s.create(foreign, grantFrom(s.ns, other))
	plain, waiting, reaching, pods := s.usage(0), s.usage(1), s.usage(0), s.usage(0)
	waiting.Labels = map[string]string{composedLabel: "composite"}
	reaching.Name, reaching.Spec.Of = "reaching", named("ConfigMap", "foreign")
	reaching.Spec.Of.ResourceRef.Namespace = other
	pods.Name, pods.Spec.Of = "pods", named("Pod", "pod")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "pod"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "none"}},
	}}
	s.create(plain, waiting, pod, pods)
	s.createAs("tenant", reaching) // With the author's rights, no ReferenceGrant would be needed.
	s.allReady(4)
	if err := s.c.Delete(t.Context(), s.usage(1)); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}

	p := newProxy(t)
	open, held := make(chan struct{}), make(chan struct{}, 100)
	p.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if isWatch(r) {
			held <- struct{}{}
			select {
			case <-open:
			case <-r.Context().Done():
			}
		}
		return false
	})
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		defer close(open)
		select { // The operator answers now: caches are filled after that.
		case <-held:
		case <-t.Context().Done():
			return
		}
		for name, obj := range map[string]client.Object{
			"plain": s.used(0), "waiting": s.used(1), "reaching": foreign,
		} {
			err := s.c.Delete(t.Context(), obj.DeepCopyObject().(client.Object))
			if err == nil {
				t.Errorf("what the %s Usage protects was deleted", name)
			}
			t.Logf("%s: %v", name, err)
		}
		if err := s.c.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{}); err == nil {
			t.Error("the protected Pod was evicted")
		}
	}()
	operator.Start(t, p.Through)
	<-checked
	s.allReady(3)
	for i := range 2 {
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, s.noneLeft)
}

// grantFrom allows Usages of one namespace to protect ConfigMaps of another namespace.
func grantFrom(from, to string) *kinshipv1alpha1.ReferenceGrant {
	return &kinshipv1alpha1.ReferenceGrant{
		ObjectMeta: metav1.ObjectMeta{Namespace: to, Name: "grant"},
		Spec: kinshipv1alpha1.ReferenceGrantSpec{
			From: []kinshipv1alpha1.ReferenceGrantFrom{{
				Group: protectionv1beta1.GroupVersion.Group, Kind: "Usage", Namespace: from,
			}},
			To: []kinshipv1alpha1.ReferenceGrantTo{{Kind: "ConfigMap"}},
		},
	}
}

// createAs creates an object as a user with rights to Usages and Secrets of the namespace only.
func (s scene) createAs(user string, obj client.Object) {
	s.t.Helper()
	name := metav1.ObjectMeta{Namespace: s.ns, Name: user}
	s.create(
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{protectionv1beta1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"*"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		})
	c := testenv.ClientFor(s.t, testenv.As(s.t, user), s.c.Scheme())
	testenv.Eventually(s.t, func() error { return c.Create(s.t.Context(), obj) })
}
