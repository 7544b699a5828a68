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
// annotations. No pack copies LastAppliedConfigAnnotation or [Annotations].
func (w written) instruction() written {
	annotations := maps.Clone(w.Metadata.Annotations)
	for _, name := range Annotations {
		delete(annotations, name)
	}
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	return written{metav1.ObjectMeta{Labels: w.Metadata.Labels, Annotations: annotations}, w.Spec}
}

// Record returns the patches with which a mutating webhook writes [AuthorsAnnotation]. A user who changes the spec, a
// label or an annotation becomes one more author: the parts that the user leaves as they are stay the work of
// the earlier authors. Example: an administrator annotates all Components. Each Component then has its
// tenant and the administrator as authors, and what the tenant wrote needs the tenant's rights as before.
//
// A write that changes none of the three keeps the authors on record, whatever annotation the user sends. Labels and
// annotations count because a pack such as oam copies both into workloads: an annotation of an Ingress is
// as powerful as spec.rules. An object without authors on record stays without, since nobody knows who wrote it. A user
// becomes the only author by creating the object again, or by [TakeAnnotation] with the user's own name.
func Record(req *admissionv1.AdmissionRequest) ([]webhook.JSONPatchOp, error) {
	var now, old written
	if err := json.Unmarshal(req.Object.Raw, &now); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
			return nil, fmt.Errorf("read old object: %w", err)
		}
	}
	want, err := recorded(req, now, old)
	if err != nil {
		return nil, err
	}
	return annotate(now.Metadata.Annotations, want), nil
}

// Keep returns the patches that give [Annotations] of an object their former values, for an update by an account that
// is no author, such as an operator that labels objects.
func Keep(req *admissionv1.AdmissionRequest) ([]webhook.JSONPatchOp, error) {
	var now, old written
	if err := json.Unmarshal(req.Object.Raw, &now); err != nil {
		return nil, fmt.Errorf("read object: %w", err)
	}
	if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
		return nil, fmt.Errorf("read old object: %w", err)
	}
	return annotate(now.Metadata.Annotations, former(old)), nil
}

// former returns the annotations of an object that name authors.
func former(old written) map[string]string {
	kept := map[string]string{}
	for _, name := range []string{AuthorsAnnotation, RenderedAnnotation} {
		if value, ok := old.Metadata.Annotations[name]; ok {
			kept[name] = value
		}
	}
	return kept
}

// recorded returns the values that [Annotations] have after a request. A missing value means that the annotation is
// removed.
func recorded(req *admissionv1.AdmissionRequest, now, old written) (map[string]string, error) {
	kept := former(old)
	author := AuthorOf(req.UserInfo)
	taker, takes := now.Metadata.Annotations[TakeAnnotation]
	authors := append(authorsIn(old.Metadata.Annotations), author)
	switch {
	case takes && taker != author.Username:
		return nil, fmt.Errorf(
			"annotation %s is %q: only a user can take over an object in the user's own name, which is %q",
			TakeAnnotation, taker, author.Username)
	case takes || req.Operation != admissionv1.Update:
		delete(kept, RenderedAnnotation)
		authors = []Author{author}
	case equality.Semantic.DeepEqual(now.instruction(), old.instruction()), len(authors) == 1:
		return kept, nil // Nothing that counts has changed, or nobody knows the other authors.
	}
	var err error
	kept[AuthorsAnnotation], err = FormatAuthors(authors...)
	return kept, err
}

// annotate returns the JSON patches that give [Annotations] of an object the wanted values.
func annotate(present, want map[string]string) []webhook.JSONPatchOp {
	const path = "/metadata/annotations"
	if present == nil {
		if len(want) == 0 {
			return nil
		}
		return []webhook.JSONPatchOp{{Operation: "add", Path: path, Value: want}}
	}
	var patches []webhook.JSONPatchOp
	for _, name := range Annotations {
		key := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		got, has := present[name]
		value, wanted := want[name]
		switch {
		case wanted && (!has || got != value):
			patches = append(patches, webhook.JSONPatchOp{Operation: "add", Path: key, Value: value})
		case has && !wanted:
			patches = append(patches, webhook.JSONPatchOp{Operation: "remove", Path: key})
		}
	}
	return patches
}

// Forget removes [AuthorsAnnotation] and [RenderedAnnotation] of objects that were written after a
// metadata.resourceVersion (since). A guard was missing from then on, so a user could write the annotation. lists are
// empty lists of the kinds to read, such as an ApplicationConfigurationList.
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
	_, recorded := obj.GetAnnotations()[AuthorsAnnotation]
	_, rendered := obj.GetAnnotations()[RenderedAnnotation]
	if err != nil || order <= 0 || !recorded && !rendered {
		return err
	}
	patch := []byte(`{"metadata":{"annotations":{"` + AuthorsAnnotation + `":null,"` + RenderedAnnotation + `":null}}}`)
	return client.IgnoreNotFound(c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(owner)))
}
