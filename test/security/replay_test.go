package security_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// replaying creates an object that is used, by a Usage which replays deletions.
func replaying(t *testing.T) (land, *corev1.ConfigMap, *protectionv1beta1.Usage) {
	t.Helper()
	l := newLand(t)
	used, u := l.configMap("used"), l.usage("usage")
	u.Spec.ReplayDeletion = new(true)
	l.Create(used, l.secret("using"), u)
	l.awaitReady(u)
	return l, used, u
}

// release ends what uses the object and waits until the Usage is gone.
func (l land) release(u *protectionv1beta1.Usage) {
	l.T.Helper()
	l.Delete(l.secret("using"))
	l.Gone(u)
}

// TestReplayNeedsRight has people who may not delete an object try to have the
// operator do it for them.
func TestReplayNeedsRight(t *testing.T) {
	operator.Start(t)

	t.Run("control", func(t *testing.T) { // So that the rest proves something.
		l, used, u := replaying(t)
		user := l.user("user")
		l.allow(user, right("", "configmaps", "delete"))
		if err := l.As(user).Delete(t.Context(), used); !apierrors.IsConflict(err) {
			t.Fatalf("deletion: %v, want a conflict", err)
		}
		l.Delete(l.secret("using"))
		l.Gone(used)
		l.Gone(u)
	})
	t.Run("patch but not delete", func(t *testing.T) {
		l, used, u := replaying(t)
		user := l.user("user")
		l.allow(user, right("", "configmaps", "patch", "update", "get"))
		if err := l.As(user).Delete(t.Context(), used); !apierrors.IsForbidden(err) {
			t.Errorf("deletion: %v, want 403", err)
		}
		attempt := `{"metadata":{"annotations":{"usage.crossplane.io/deletion-attempt-with-policy":"Background"}}}`
		if err := l.As(user).Patch(t.Context(), used, client.RawPatch(types.MergePatchType, []byte(attempt))); err != nil {
			t.Error(err)
		}
		l.release(u)
		l.Exists(used)
	})
	t.Run("delete of the Usage only", func(t *testing.T) {
		l, used, u := replaying(t)
		user := l.user("user")
		l.allow(user, right(usageGroup, "usages", "delete"))
		if err := l.As(user).Delete(t.Context(), used); !apierrors.IsForbidden(err) {
			t.Errorf("deletion of the used object: %v, want 403", err)
		}
		if err := l.As(user).Delete(t.Context(), u); err != nil {
			t.Error(err)
		}
		l.release(u)
		l.Exists(used)
	})
	t.Run("right withdrawn", func(t *testing.T) {
		l, used, u := replaying(t)
		user, may := l.user("user"), right("", "configmaps", "delete")
		l.allow(user, may)
		if err := l.As(user).Delete(t.Context(), used); !apierrors.IsConflict(err) {
			t.Fatalf("deletion: %v, want a conflict", err)
		}
		if err := l.C.DeleteAllOf(t.Context(), &rbacv1.RoleBinding{}, client.InNamespace(l.NS)); err != nil {
			t.Fatal(err)
		}
		l.awaitRights(user, false, may)
		l.release(u)
		l.Exists(used)
	})
	t.Run("another object of the name", func(t *testing.T) {
		l, used, u := replaying(t)
		if err := l.C.Delete(t.Context(), used); !apierrors.IsConflict(err) {
			t.Fatalf("deletion: %v, want a conflict", err)
		}
		l.recreate(used, u)
		l.release(u)
		l.Exists(l.configMap("used"))
	})
}

// recreate replaces an object that is used by another one of its name, as an
// administrator can who overrides the Usage.
func (l land) recreate(used *corev1.ConfigMap, u *protectionv1beta1.Usage) {
	l.T.Helper()
	override := `{"metadata":{"annotations":{"kinship.dev/override-usage":"` + u.Name + `"}}}`
	if err := l.C.Patch(l.T.Context(), used, client.RawPatch(types.MergePatchType, []byte(override))); err != nil {
		l.T.Fatal(err)
	}
	l.Delete(used)
	l.Create(l.configMap("used"))
}

// TestForgedStatus writes into the status of a Usage that somebody was refused.
func TestForgedStatus(t *testing.T) {
	operator.Start(t)
	l, used, u := replaying(t)
	user := l.user("user")
	l.allow(user, onUsages, right(usageGroup, "usages/status", "*"))
	status := map[string]any{"refused": []map[string]any{{
		"target": map[string]any{"kind": "ConfigMap", "namespace": l.NS, "name": used.Name, "uid": used.UID},
		"user":   "kubernetes-admin", "groups": []string{"system:masters"}, "time": metav1.Now(),
	}}}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]client.Client{"the tenant": l.As(user), "an administrator": l.C} {
		err := c.Status().Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s writes the status: %v, want 403", name, err)
		}
		// By the main resource it is without effect.
		_ = c.Patch(t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	}
	l.checkNothingRefused(u)
	l.release(u)
	l.Exists(used)
}

func (l land) checkNothingRefused(u *protectionv1beta1.Usage) {
	l.T.Helper()
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		l.T.Fatal(err)
	}
	if len(u.Status.Refused) != 0 {
		l.T.Errorf("the status says that %s was refused a deletion", u.Status.Refused[0].User)
	}
}

// TestForgedReview has somebody who reaches the webhook over the network, as any
// Pod can, ask as if he were the API server, in the name of the garbage
// collector. What nobody asked for is not carried out.
func TestForgedReview(t *testing.T) {
	operator.Start(t)
	l, used, u := replaying(t)
	url := l.webhook()
	// Its path he knows from the sources.
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "https://"), "/")
	post(t, "https://"+address+"/validate-no-usages", l.forged(used))
	l.checkNothingRefused(u)
	l.release(u)
	l.Exists(used)
}

const garbageCollector = "system:serviceaccount:kube-system:generic-garbage-collector"

// webhook returns by which URL the API server asks.
func (l land) webhook() string {
	l.T.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := l.C.Get(l.T.Context(), client.ObjectKey{Name: "crossplane-no-usages"}, &c); err != nil {
		l.T.Fatal(err)
	}
	return *c.Webhooks[0].ClientConfig.URL
}

// forged is the review of a deletion that the garbage collector would send.
func (l land) forged(used client.Object) admissionv1.AdmissionReview {
	l.T.Helper()
	if err := l.C.Get(l.T.Context(), client.ObjectKeyFromObject(used), used); err != nil {
		l.T.Fatal(err)
	}
	raw, err := json.Marshal(used)
	if err != nil {
		l.T.Fatal(err)
	}
	return admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "forged", Operation: admissionv1.Delete, Name: used.GetName(), Namespace: l.NS,
			Kind:      metav1.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
			Resource:  metav1.GroupVersionResource{Version: "v1", Resource: "configmaps"},
			OldObject: runtime.RawExtension{Raw: raw},
			UserInfo: authenticationv1.UserInfo{
				Username: garbageCollector,
				Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
			},
		},
	}
}

func post(t *testing.T, url string, content any) {
	t.Helper()
	body, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // As an intruder would.
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	t.Logf("the webhook answered %s", response.Status)
}

// TestStrangeLabel puts the lock on objects that no Usage protects: they can be
// deleted, whether or not the operator has heard of their kind.
func TestStrangeLabel(t *testing.T) {
	operator.Start(t)
	l, _, _ := replaying(t)
	user := l.user("user")
	l.allow(user, right("", "configmaps", "*"), right("", "services", "*"))
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+lockLabel+`":"true"}}}`))
	service := &corev1.Service{ObjectMeta: l.named("strange"), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	for name, obj := range map[string]client.Object{"kind in use": l.configMap("strange"), "other kind": service} {
		l.Create(obj)
		if err := l.As(user).Patch(t.Context(), obj, label); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := l.As(user).Delete(t.Context(), obj); err != nil {
			t.Errorf("%s: delete: %v", name, err)
		}
	}
	// From a kind in use the operator takes it off.
	obj := l.configMap("labelled")
	l.Create(obj)
	if err := l.As(user).Patch(t.Context(), obj, label); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		if obj.Labels[lockLabel] != "" {
			return errLabelled
		}
		return nil
	})
}
