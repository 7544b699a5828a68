package operator

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inNamespacesOnly returns a client.Client that lists each of namespaces in turn if the caller
// lists all namespaces. With --namespaces, the operator has no right to a List across the cluster.
func inNamespacesOnly(c client.Client, namespaces []string) client.Client {
	if len(namespaces) == 0 {
		return c
	}
	return limitedClient{c, namespaces}
}

type limitedClient struct {
	client.Client

	namespaces []string
}

// List implements client.Reader. Callers MUST NOT set ListOptions.Limit or Continue.
func (c limitedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	namespaced, err := c.IsObjectNamespaced(list)
	if err != nil {
		return fmt.Errorf("find the scope of %T: %w", list, err)
	}
	if !namespaced || options.Namespace != "" {
		return c.Client.List(ctx, list, opts...)
	}
	var all []runtime.Object
	for _, namespace := range c.namespaces {
		part := list.DeepCopyObject().(client.ObjectList)
		if err := c.Client.List(ctx, part, append(slices.Clone(opts), client.InNamespace(namespace))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(part)
		if err != nil {
			return fmt.Errorf("read list: %w", err)
		}
		all = append(all, items...)
	}
	if err := meta.SetList(list, all); err != nil {
		return fmt.Errorf("make list: %w", err)
	}
	return nil
}
