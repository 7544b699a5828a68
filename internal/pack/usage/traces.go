package usage

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/pack"
)

// traces finds the finalizers of Usages and the locks on objects of every kind.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	for _, k := range kinds {
		found, err := r.Finalizers(ctx, k.GroupVersion().WithResource(k.resource), "", finalizer.Is)
		if err != nil {
			return all, err
		}
		all.Found = append(all.Found, found...)
	}
	for _, mapping := range r.Watcher.Served() {
		addLocks(ctx, r, mapping.Resource, &all)
	}
	return all, nil
}

// addLocks finds the locked objects of a kind. A kind that can't be read does not stop the
// uninstallation: a label has no effect without the webhook.
func addLocks(ctx context.Context, r pack.Reading, resource schema.GroupVersionResource, all *pack.Traces) {
	list, err := r.List(ctx, resource, metav1.ListOptions{LabelSelector: lockLabel})
	if err != nil {
		all.Unread = append(all.Unread, pack.Unread{Resource: resource, Reason: err, Left: "label " + lockLabel})
	}
	for i := range list {
		all.Found = append(all.Found, pack.Trace{
			Resource: resource, Object: &list[i], Labels: []string{lockLabel},
		})
	}
}
