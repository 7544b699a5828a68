package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/warnings"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
	fieldOwner = client.FieldOwner("kinship-story")
	// teardown is the finalizer of a provider whose deletion takes seconds. Stage removes teardown
	// in place of the provider.
	teardown = "kinship.dev/stand-in-teardown"
	// patience is how long [Stage].await waits for the expected state.
	patience = 20 * time.Second
	// interval is the time between two reads in [Stage].await, and so the accuracy of the times
	// that Tell prints.
	interval = 5 * time.Millisecond
)

// Stage is the cluster that a Story acts on: the actions and expectations of each Step.
type Stage struct {
	client   client.Client
	warnings warnings.Collector
}

// NewStage returns a stage on a cluster.
func NewStage(config *rest.Config) (*Stage, error) {
	s := &Stage{}
	config = rest.CopyConfig(config)
	config.WarningHandler = &s.warnings
	var err error
	if s.client, err = client.New(config, client.Options{}); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return s, nil
}

// apply applies objects in order by server-side apply, and leaves the API server's answers in the
// objects. For a CustomResourceDefinition, apply waits until its kind is served.
func (s *Stage) apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		err := s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s: %w", ID(object), err)
		}
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		err = s.await(ctx, object, "it is served", func(crd *unstructured.Unstructured) string {
			return condition(crd, "Established")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// warned returns an error if the API server has warned since the last call.
func (s *Stage) warned() error {
	if texts := s.warnings.Take(); len(texts) > 0 {
		return fmt.Errorf("the API server warns: %s", texts[0])
	}
	return nil
}

// await reads an object until look returns "". Otherwise look returns a text about the state, for
// the [Mismatch]. look is called with nil if the object does not exist (IsNotFound).
func (s *Stage) await(
	ctx context.Context, object *unstructured.Unstructured, expected string,
	look func(*unstructured.Unstructured) string,
) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		live, err := s.get(ctx, object)
		if err != nil {
			return err
		}
		seen := look(live)
		if seen == "" {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-deadline:
			return &Mismatch{Expected: ID(object) + ": " + expected, Seen: fmt.Sprintf("%s for %s", seen, patience)}
		}
	}
}

// awaitReady awaits that a condition Ready is true and is about the object's present
// generation.
func (s *Stage) awaitReady(ctx context.Context, object *unstructured.Unstructured) error {
	return s.awaitTrue(ctx, object, "Ready")
}

// awaitTrue awaits that a condition is true and is about the object's present generation.
func (s *Stage) awaitTrue(ctx context.Context, object *unstructured.Unstructured, name string) error {
	return s.await(ctx, object, "condition "+name+" is True", func(live *unstructured.Unstructured) string {
		return condition(live, name)
	})
}

// awaitField awaits that a field, as in spec.containers[*].image, has a value, as text.
func (s *Stage) awaitField(ctx context.Context, object *unstructured.Unstructured, want, path string) error {
	field := relation.MustPath(path)
	return s.await(ctx, object, path+" is "+want, func(live *unstructured.Unstructured) string {
		if live == nil {
			return absent
		}
		var got []string
		for _, found := range field.Values(live.Object) {
			got = append(got, fmt.Sprint(found.Value))
		}
		if !slices.Equal(got, []string{want}) {
			return fmt.Sprintf("it is %v", got)
		}
		return ""
	})
}

// awaitGone awaits that there is no such object any more.
func (s *Stage) awaitGone(ctx context.Context, object *unstructured.Unstructured) error {
	return s.await(ctx, object, "it is gone", func(live *unstructured.Unstructured) string {
		switch {
		case live == nil:
			return ""
		case live.GetDeletionTimestamp() != nil:
			return fmt.Sprintf("it is being deleted and held by %v", live.GetFinalizers())
		default:
			return "it is there"
		}
	})
}

// awaitLabel awaits that an object has a label or, with an empty value, lacks the label.
func (s *Stage) awaitLabel(ctx context.Context, object *unstructured.Unstructured, key, value string) error {
	expected := fmt.Sprintf("label %s is %q", key, value)
	return s.await(ctx, object, expected, func(live *unstructured.Unstructured) string {
		switch {
		case live == nil:
			return absent
		case live.GetLabels()[key] != value:
			return fmt.Sprintf("%q", live.GetLabels()[key])
		default:
			return ""
		}
	})
}

// deleteObject deletes an object as people do, in the background.
func (s *Stage) deleteObject(ctx context.Context, object *unstructured.Unstructured) error {
	err := s.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil {
		return &Mismatch{Expected: "delete " + ID(object) + " is accepted", Seen: err.Error()}
	}
	return nil
}

// expectRefusal tries to delete an object, expects 409 Conflict with a message, and returns the API
// server's message.
func (s *Stage) expectRefusal(ctx context.Context, object *unstructured.Unstructured, message string) (string, error) {
	err := s.client.Delete(ctx, object)
	mismatch := &Mismatch{Expected: "409 Conflict: ... " + message, Seen: "the deletion was accepted"}
	if err == nil {
		return "", mismatch
	}
	said := err.Error()
	if apierrors.ReasonForError(err) != metav1.StatusReasonConflict || !strings.HasSuffix(said, message) {
		mismatch.Seen = said
		return "", mismatch
	}
	return "Error from server (Conflict): " + said, nil
}

// holdDeletion plays a provider that takes its time to tear an object down: the object
// stays after its deletion until Stage.dropFinalizer.
func (s *Stage) holdDeletion(ctx context.Context, object *unstructured.Unstructured) error {
	return s.finalizers(ctx, object, func(have []string) []string {
		return append(slices.Clone(have), teardown)
	})
}

// dropFinalizer removes the finalizer of Stage.holdDeletion. An object that is gone needs no dropFinalizer.
func (s *Stage) dropFinalizer(ctx context.Context, object *unstructured.Unstructured) error {
	return s.finalizers(ctx, object, func(have []string) []string {
		return slices.DeleteFunc(slices.Clone(have), func(f string) bool { return f == teardown })
	})
}

func (s *Stage) finalizers(
	ctx context.Context, object *unstructured.Unstructured, change func([]string) []string,
) error {
	live, err := s.get(ctx, object)
	if err != nil || live == nil {
		return err
	}
	after := live.DeepCopy()
	after.SetFinalizers(change(live.GetFinalizers()))
	if slices.Equal(after.GetFinalizers(), live.GetFinalizers()) {
		return nil
	}
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := s.client.Patch(ctx, after, patch, fieldOwner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write finalizers of %s: %w", ID(object), err)
	}
	return nil
}

// patch changes an object, if it exists, by a JSON merge patch.
func (s *Stage) patch(ctx context.Context, object *unstructured.Unstructured, text string) error {
	err := s.client.Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change %s: %w", ID(object), err)
	}
	return nil
}

// clear deletes objects in any state, and returns when every GET answers NotFound. clear sends
// every DELETE before it awaits the first object, since a protected object can only be deleted
// after its Usage.
func (s *Stage) clear(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		_ = s.remove(ctx, object) // The loop below tries again.
	}
	for _, object := range slices.Backward(objects) {
		err := s.await(ctx, object, "it is gone", func(live *unstructured.Unstructured) string {
			if live == nil {
				return ""
			}
			return fmt.Sprintf("it is there (answer to its deletion: %v)", s.remove(ctx, live))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Stage) remove(ctx context.Context, object *unstructured.Unstructured) error {
	return errors.Join(s.dropFinalizer(ctx, object), client.IgnoreNotFound(s.client.Delete(ctx, object)))
}

// absent is the text of look in Stage.await for an object that does not exist.
const absent = "there is no such object"

// get returns an object from the API server, or nil.
func (s *Stage) get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	err := s.client.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ID(object), err)
	}
	return live, nil
}

// condition returns why a condition in status.conditions is not True for metadata.generation, or
// "".
func condition(live *unstructured.Unstructured, name string) string {
	if live == nil {
		return absent
	}
	c, err := find(live, name)
	observed, stated := c["observedGeneration"].(int64)
	switch {
	case err != nil:
		return err.Error()
	case c == nil:
		return "no condition " + name
	case c["status"] != "True":
		return fmt.Sprintf("%s is %v, %v: %v", name, c["status"], c["reason"], c["message"])
	case stated && observed != live.GetGeneration():
		return fmt.Sprintf("%s is about generation %d of %d", name, observed, live.GetGeneration())
	default:
		return ""
	}
}

// message returns the message of a condition in status.conditions, or "".
func message(live *unstructured.Unstructured, name string) string {
	if live == nil {
		return ""
	}
	c, err := find(live, name)
	if err != nil {
		return err.Error()
	}
	said, _ := c["message"].(string)
	return said
}

// find returns a condition, or nil.
func find(live *unstructured.Unstructured, name string) (map[string]any, error) {
	conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	if err != nil {
		return nil, fmt.Errorf("read conditions of %s: %w", ID(live), err)
	}
	for _, item := range conditions {
		c, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("read conditions of %s: %v is none", ID(live), item)
		}
		if c["type"] == name {
			return c, nil
		}
	}
	return nil, nil
}
