package openstack

import (
	"context"
	"slices"
	"sync"
)

type tenantKey struct{}

// WithTenant returns a context.Context whose calls count as calls of a tenant, such as a namespace.
// Tenants of one cloud have fair shares of [Options.Calls]. All calls without WithTenant count as
// calls of one tenant.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

func tenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// slots bound the calls under way to one service, such as Neutron. One tenant has at most
// slots.each, so that slots.all-slots.each are left for other tenants. serve gives free slots to
// the tenants in slots.order.
type slots struct {
	each, all int

	mu     sync.Mutex
	used   int
	held   map[string]int             // by tenant
	queues map[string][]chan struct{} // waiting calls, by tenant
	order  []string                   // tenants that wait; the first is served first
}

func newSlots(each int) *slots {
	return &slots{
		each: each, all: each + max(1, each/4), held: map[string]int{}, queues: map[string][]chan struct{}{},
	}
}

// acquire waits for a slot.
func (s *slots) acquire(ctx context.Context, tenant string) error {
	turn := make(chan struct{})
	s.mu.Lock()
	if len(s.queues[tenant]) == 0 {
		s.order = append(s.order, tenant)
	}
	s.queues[tenant] = append(s.queues[tenant], turn)
	s.serve()
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queues[tenant], turn); i >= 0 {
		s.queues[tenant] = slices.Delete(s.queues[tenant], i, i+1)
		s.tidy(tenant)
	} else { // The slot was given at the same moment.
		s.put(tenant)
	}
	return ctx.Err()
}

// release gives a slot back.
func (s *slots) release(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(tenant)
}

func (s *slots) put(tenant string) {
	s.used--
	if s.held[tenant]--; s.held[tenant] == 0 {
		delete(s.held, tenant)
	}
	s.serve()
}

// serve gives the free slots to the tenants in slots.order, one to each tenant in turn. The caller
// holds slots.mu.
func (s *slots) serve() {
	for s.used < s.all {
		i := slices.IndexFunc(s.order, func(tenant string) bool { return s.held[tenant] < s.each })
		if i < 0 {
			return
		}
		tenant := s.order[i]
		close(s.queues[tenant][0])
		s.queues[tenant] = s.queues[tenant][1:]
		s.used++
		s.held[tenant]++
		s.order = append(slices.Delete(s.order, i, i+1), tenant)
		s.tidy(tenant)
	}
}

// tidy removes a tenant without waiting calls from slots.queues and slots.order.
func (s *slots) tidy(tenant string) {
	if len(s.queues[tenant]) > 0 {
		return
	}
	delete(s.queues, tenant)
	s.order = slices.DeleteFunc(s.order, func(other string) bool { return other == tenant })
}
