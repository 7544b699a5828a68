package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	toolscache "k8s.io/client-go/tools/cache"
)

// available is the value in tracker.objects for an Available object.
const available = ""

// tracker has the objects that watches have shown, with the message of each object that is not
// Available.
type tracker struct {
	mu      sync.Mutex
	objects map[string]string
	reached map[string]time.Time // when a watch showed the object as Available
	waiting int
	changed chan struct{}
}

// track starts an informer of each of kinds in a namespace, until the context ends.
func track(ctx context.Context, client dynamic.Interface, namespace string) (*tracker, error) {
	t := &tracker{objects: map[string]string{}, reached: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	for _, k := range kinds {
		_, err := factory.ForResource(k.gvr()).Informer().AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    t.see,
			UpdateFunc: func(_, obj any) { t.see(obj) },
			DeleteFunc: t.miss,
		})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", k.plural, err)
		}
	}
	factory.Start(ctx.Done())
	for gvr, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("watch %s: %w", gvr.Resource, context.Cause(ctx))
		}
	}
	return t, nil
}

func (t *tracker) see(obj any) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		t.set(u.GetKind()+"/"+u.GetName(), true, state(u))
	}
}

func (t *tracker) miss(obj any) {
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		t.set(u.GetKind()+"/"+u.GetName(), false, available)
	}
}

func (t *tracker) set(key string, exists bool, state string) {
	t.mu.Lock()
	if before, known := t.objects[key]; known && before != available {
		t.waiting--
	}
	if state != available {
		t.waiting++
	}
	if before, known := t.objects[key]; state == available && (!known || before != available) {
		t.reached[key] = time.Now()
	}
	t.objects[key] = state
	if !exists {
		delete(t.objects, key)
		delete(t.reached, key)
	}
	t.mu.Unlock()
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// until waits until n objects exist, and all are Available.
func (t *tracker) until(ctx context.Context, n int) error {
	return t.await(ctx, fmt.Sprintf("%d objects", n), func() bool { return len(t.objects) == n && t.waiting == 0 })
}

// says waits until the condition Progressing of an object has a message.
func (t *tracker) says(ctx context.Context, e *element, text string) error {
	return t.await(ctx, e.key()+" to say "+text, func() bool { return t.objects[e.key()] == text })
}

// since returns when a watch showed an object as Available.
func (t *tracker) since(e *element) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reached[e.key()]
}

func (t *tracker) await(ctx context.Context, what string, is func() bool) error {
	for {
		t.mu.Lock()
		reached := is()
		t.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-t.changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; %s", what, ctx.Err(), t.describe())
		}
	}
}

// describe returns the objects that are not Available, with their messages.
func (t *tracker) describe() string {
	const most = 5
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for key, state := range t.objects {
		if state != available {
			lines = append(lines, key+": "+state)
		}
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d are there, %d of them not Available: %s",
		len(t.objects), len(lines), strings.Join(lines[:min(most, len(lines))], "; "))
}

// state returns the message of the condition Progressing, or `available` if the condition Available
// is True with observedGeneration = metadata.generation.
func state(u *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	said := "nothing was said yet"
	for _, item := range conditions {
		c, ok := item.(fields)
		if !ok {
			continue
		}
		generation, _ := c["observedGeneration"].(int64)
		if c["type"] == "Available" && c["status"] == "True" && generation == u.GetGeneration() {
			return available
		}
		if c["type"] == "Progressing" {
			said = fmt.Sprint(c["message"])
		}
	}
	return said
}
