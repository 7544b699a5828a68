package authorise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/pkg/object"
)

// written is the part of an object whose change makes the user an [Author]: spec, metadata.labels
// and metadata.annotations.
type written struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     any               `json:"spec"`
}

// instruction returns the fields that a pack copies into other objects: the spec, the labels and the
// annotations. No pack copies LastAppliedConfigAnnotation.
func (w written) instruction() written {
	annotations := maps.Clone(w.Metadata.Annotations)
	delete(annotations, AuthorsAnnotation)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	return written{metav1.ObjectMeta{Labels: w.Metadata.Labels, Annotations: annotations}, w.Spec}
}

// Record returns the patches with which a mutating webhook writes [AuthorsAnnotation]. The author is the
// user who changed the spec, a label or an annotation last. A write that changes none of the three keeps
// the authors on record, whatever annotation the user sends. Labels and annotations count because a pack
// such as oam copies labels and annotations into workloads: an annotation of an Ingress is as powerful as
// spec.rules.
func Record(req *admissionv1.AdmissionRequest) ([]webhook.JSONPatchOp, error) {
	var now, old written
	if err := json.Unmarshal(req.Object.Raw, &now); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	want, err := FormatAuthors(AuthorOf(req.UserInfo))
	if err != nil {
		return nil, err
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
			return nil, fmt.Errorf("read old object: %w", err)
		}
		if equality.Semantic.DeepEqual(now.instruction(), old.instruction()) {
			want = old.Metadata.Annotations[AuthorsAnnotation]
		}
	}
	return annotate(now.Metadata.Annotations, want), nil
}

// annotate returns the JSON patches that set [AuthorsAnnotation] of an object to want.
func annotate(present map[string]string, want string) []webhook.JSONPatchOp {
	const path = "/metadata/annotations"
	key := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(AuthorsAnnotation)
	got, has := present[AuthorsAnnotation]
	switch {
	case has && want == "":
		return []webhook.JSONPatchOp{{Operation: "remove", Path: key}}
	case got == want:
		return nil
	case present == nil:
		return []webhook.JSONPatchOp{
			{Operation: "add", Path: path, Value: map[string]string{AuthorsAnnotation: want}},
		}
	default:
		return []webhook.JSONPatchOp{{Operation: "add", Path: key, Value: want}}
	}
}

// Forget removes [AuthorsAnnotation] of objects that were written after a metadata.resourceVersion
// (since). A guard was missing from then on, so a user could write the annotation. lists are empty
// lists of the kinds to read, such as an ApplicationConfigurationList.
func Forget(ctx context.Context, c client.Client, owner, since string, lists ...client.ObjectList) error {
	var failed []error
	for _, list := range lists {
		if err := c.List(ctx, list); err != nil {
			return fmt.Errorf("list objects with authors: %w", err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("read list: %w", err)
		}
		for _, item := range items {
			obj := item.(client.Object)
			if err := forget(ctx, c, owner, since, obj); err != nil {
				failed = append(failed, fmt.Errorf("remove the authors of %s: %w", obj.GetName(), err))
			}
		}
	}
	return errors.Join(failed...)
}

func forget(ctx context.Context, c client.Client, owner, since string, obj client.Object) error {
	order, err := object.CompareVersions(obj.GetResourceVersion(), since)
	if err != nil || order <= 0 || obj.GetAnnotations()[AuthorsAnnotation] == "" {
		return err
	}
	patch := []byte(`{"metadata":{"annotations":{"` + AuthorsAnnotation + `":null}}}`)
	return client.IgnoreNotFound(c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(owner)))
}
