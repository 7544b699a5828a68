package openstack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/test/operator"
)

// kindsClient is a client that records of which kinds it created objects. A world then lists
// these few kinds: three of four requests in these tests were lists of all 26 kinds.
type kindsClient struct {
	client.WithWatch

	mu   sync.Mutex
	used map[string]bool
}

func newKindsClient(t *testing.T) *kindsClient {
	t.Helper()
	return &kindsClient{WithWatch: operator.Client(t), used: map[string]bool{}}
}

// Create implements client.Client.
func (c *kindsClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return err
	}
	c.record(gvk.Kind)
	return c.WithWatch.Create(ctx, obj, opts...)
}

// record notes that an object of a kind was created. The operator composes a RouterInterface
// for a Subnet.
func (c *kindsClient) record(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[kind] = true
	c.used["RouterInterface"] = c.used["RouterInterface"] || kind == "Subnet"
}

// lists returns an empty list of each recorded kind, in the order of lists.
func (c *kindsClient) lists() []client.ObjectList {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(lists(), func(list client.ObjectList) bool {
		kind := strings.TrimPrefix(strings.TrimSuffix(fmt.Sprintf("%T", list), "List"), "*v1alpha1.")
		return !c.used[kind]
	})
}

// itemsOf lists objects of several kinds.
func itemsOf(ctx context.Context, c client.Client, lists []client.ObjectList, opts ...client.ListOption) ([]external.Object, error) {
	var all []external.Object
	for _, list := range lists {
		if err := c.List(ctx, list, opts...); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			all = append(all, item.(external.Object))
		}
	}
	return all, nil
}

// leavesNothing expects at the end of a test that no object of any kind is left in any
// namespace: a world looks only for kinds of which the world created objects.
func leavesNothing(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	t.Cleanup(func() {
		left, err := itemsOf(context.WithoutCancel(t.Context()), c, lists())
		if err != nil {
			t.Error(err)
		}
		for _, obj := range left {
			t.Errorf("left behind: %T %s in namespace %s", obj, obj.GetName(), obj.GetNamespace())
		}
	})
}
