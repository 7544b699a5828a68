package seed3

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/story"
)

// patience is the time limit for waits without testenv.Eventually.
const patience = 30 * time.Second

// blank returns an object of the same kind, name and namespace.
func blank(o object) object {
	b := &unstructured.Unstructured{}
	b.SetGroupVersionKind(o.GroupVersionKind())
	b.SetName(o.GetName())
	b.SetNamespace(o.GetNamespace())
	return b
}

func mergePatch(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

func jsonPatch(text string) client.Patch { return client.RawPatch(types.JSONPatchType, []byte(text)) }

func fromUnstructured(item, into any) error {
	fields, ok := item.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is not an object", item)
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into)
}

// within tries until there is no error. It is testenv.Eventually for cleanups, when the test's
// context has ended.
func within(try func() error) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline:
			return fmt.Errorf("not within %s: %w", patience, err)
		}
	}
}

// ending is when an object went.
type ending struct {
	id, version string
}

// endings waits for the deletion event of every object. Events of different kinds arrive by
// different watches; their resourceVersions give the order.
func endings(tb testing.TB, objects []object, events []<-chan watch.Event) []string {
	tb.Helper()
	deadline := time.After(patience)
	all := make([]ending, 0, len(objects))
	for i, o := range objects {
		last, err := deletion(events[i], deadline)
		if err != nil {
			tb.Fatalf("%s: %v", story.ID(o), err)
		}
		all = append(all, ending{story.ID(o), last.GetResourceVersion()})
	}
	slices.SortFunc(all, func(a, b ending) int {
		order, err := resourceversion.CompareResourceVersion(a.version, b.version)
		if err != nil {
			tb.Fatal(err)
		}
		return order
	})
	ids := make([]string, 0, len(all))
	for _, e := range all {
		ids = append(ids, e.id)
	}
	return ids
}

func deletion(events <-chan watch.Event, deadline <-chan time.Time) (object, error) {
	for {
		select {
		case event, ok := <-events:
			if !ok {
				return nil, errors.New("the watch ended")
			}
			if event.Type == watch.Deleted {
				return event.Object.(object), nil
			}
		case <-deadline:
			return nil, fmt.Errorf("not gone within %s", patience)
		}
	}
}

// setField sets a field of an object, for variants of an example.
func setField(o object, value string, path ...string) error {
	return unstructured.SetNestedField(o.Object, value, path...)
}
