package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/kinship-dev/kinship/pkg/watch"
)

// outage is a discovery whose first calls fail.
type outage struct {
	discovery.DiscoveryInterfaceWithContext

	fails, calls int
}

// ServerGroupsAndResourcesWithContext implements discovery.ServerResourcesInterfaceWithContext.
func (o *outage) ServerGroupsAndResourcesWithContext(
	context.Context,
) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	if o.calls++; o.calls <= o.fails {
		return nil, nil, errors.New("the API server does not answer")
	}
	return nil, nil, nil
}

// TestOpenSoonInOutage: an installed kind is looked for until discovery answers, however long that
// takes. Where discovery does not have the kind, the next definition is waited for.
func TestOpenSoonInOutage(t *testing.T) {
	for _, fails := range []int{0, 2, 20} {
		synctest.Test(t, func(t *testing.T) {
			api := &outage{fails: fails}
			e := New(nil, Options{Name: "example.com", Catalog: watch.NewCatalog(api, nil)})
			e.Add(Kind{GVK: pods})
			e.openSoon(t.Context(), func() []string { return nil })
			if want := max(fails+1, len(pauses)); api.calls != want {
				t.Errorf("%d failures: %d calls, want %d", fails, api.calls, want)
			}
		})
	}
}
