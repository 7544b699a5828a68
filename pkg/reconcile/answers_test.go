package reconcile_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// TestAnswers shows which errors are denials, and whether a denial is final.
func TestAnswers(t *testing.T) {
	pods, pod := schema.GroupResource{Resource: "pods"}, schema.GroupKind{Kind: "Pod"}
	at := func(path *field.Path) error {
		return apierrors.NewInvalid(pod, "p", field.ErrorList{field.Invalid(path, "x", "field is immutable")})
	}
	metadata := field.NewPath("metadata")
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Message: `admission webhook "w.example" denied the request: no`,
	}}
	cases := map[string]struct {
		err                   error
		denied, veto, another bool
	}{
		"nothing":           {nil, false, false, false},
		"forbidden":         {apierrors.NewForbidden(pods, "p", errors.New("no")), true, false, false},
		"not valid":         {at(metadata.Child("name")), true, false, false},
		"another object":    {fmt.Errorf("apply: %w", at(metadata.Child("uid"))), true, false, true},
		"a bad request":     {apierrors.NewBadRequest("no"), true, false, false},
		"a webhook":         {webhook, true, true, false},
		"a policy":          {errors.New("ValidatingAdmissionPolicy 'p' denied request: no"), true, true, false},
		"a webhook is away": {errors.New(`failed calling webhook "w.example": connection refused`), false, false, false},
		"a conflict":        {apierrors.NewConflict(pods, "p", errors.New("changed")), false, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			denied, veto, another := reconcile.IsDenied(c.err), reconcile.IsVeto(c.err), reconcile.IsAnother(c.err)
			if denied != c.denied || veto != c.veto || another != c.another {
				t.Errorf("denied %t, veto %t, another %t; want %t, %t, %t", denied, veto, another, c.denied, c.veto, c.another)
			}
		})
	}
}

// TestRaces shows which failures of a write another client has caused.
func TestRaces(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	another := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), "x", "field is immutable"),
	})
	for name, c := range map[string]struct {
		err                   error
		overtaken, superseded bool
	}{
		"nothing":           {nil, false, false},
		"changed meanwhile": {fmt.Errorf("write: %w", apierrors.NewConflict(pods, "p", errors.New("changed"))), true, false},
		"created meanwhile": {apierrors.NewAlreadyExists(pods, "p"), true, false},
		"deleted meanwhile": {apierrors.NewNotFound(pods, "p"), false, true},
		"another object":    {another, false, true},
		"not allowed":       {apierrors.NewForbidden(pods, "p", errors.New("no")), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			overtaken, superseded := reconcile.IsOvertaken(c.err), reconcile.IsSuperseded(c.err)
			if overtaken != c.overtaken || superseded != c.superseded {
				t.Errorf("overtaken %t, superseded %t; want %t, %t", overtaken, superseded, c.overtaken, c.superseded)
			}
		})
	}
}

// TestAnotherObject has the API server answer requests with the metadata.uid of an object that was
// replaced by another one of its name, or deleted, and a request for an object that was changed.
func TestAnotherObject(t *testing.T) {
	c, ctx := testenv.Client(t, nil), t.Context()
	create := func(name string) *corev1.ConfigMap {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace(t), Name: name}}
		if err := c.Create(ctx, cm); err != nil {
			t.Fatal(err)
		}
		return cm
	}
	old := create("replaced")
	gone := create("gone")
	if err := errors.Join(c.Delete(ctx, old), c.Delete(ctx, gone)); err != nil {
		t.Fatal(err)
	}
	now := old.DeepCopy()
	now.UID, now.ResourceVersion = "", ""
	if err := c.Create(ctx, now); err != nil {
		t.Fatal(err)
	}
	patch := func(obj client.Object, metadata string) error {
		text := fmt.Sprintf(`{"metadata":{%s},"data":{"a":"b"}}`, metadata)
		return c.Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(text)))
	}
	uid := func(obj client.Object) string { return fmt.Sprintf(`"uid":%q`, obj.GetUID()) }
	applied := func(obj client.Object) error {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		u.SetNamespace(obj.GetNamespace())
		u.SetName(obj.GetName())
		u.SetUID(obj.GetUID())
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("test"))
	}
	for name, try := range map[string]struct {
		err                 error
		another, superseded bool
	}{
		"merge patch of a replaced object": {patch(old, uid(old)), true, true},
		"merge patch of a deleted object":  {patch(gone, uid(gone)), false, true},
		"apply of a replaced object":       {applied(old), true, true},
		"apply of a deleted object":        {applied(gone), true, true},
		"DELETE of a replaced object":      {c.Delete(ctx, old, client.Preconditions{UID: &old.UID}), true, true},
		"merge patch of an older version":  {patch(now, `"resourceVersion":"1"`), false, false},
	} {
		if try.err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := reconcile.IsAnother(try.err); got != try.another {
			t.Errorf("%s: IsAnother is %t: %v", name, got, try.err)
		}
		if got := reconcile.IsSuperseded(try.err); got != try.superseded {
			t.Errorf("%s: IsSuperseded is %t: %v", name, got, try.err)
		}
	}
}
