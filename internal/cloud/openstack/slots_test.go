package openstack

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestTenantsShareCalls: a tenant that floods a cloud leaves some calls to other tenants, and
// free slots alternate between them.
func TestTenantsShareCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(8)
		got := make(chan string, 100)
		ask := func(ctx context.Context, tenant string) {
			if s.acquire(ctx, tenant) == nil {
				got <- tenant
			}
		}
		for range 40 {
			go ask(t.Context(), "flood")
		}
		synctest.Wait()
		if s.used != 8 {
			t.Errorf("a tenant that asks for 40 slots has %d, want 8", s.used)
		}
		for range 4 {
			go ask(t.Context(), "other")
		}
		synctest.Wait()
		if n := s.held["other"]; n != 2 || s.used != 10 {
			t.Errorf("another tenant has %d slots of %d, want 2 of 10", n, s.used)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go ask(ctx, "impatient")
		synctest.Wait()
		cancel()
		synctest.Wait()
		for len(got) > 0 {
			<-got
		}
		for range 4 {
			s.release("flood")
		}
		synctest.Wait()
		if n := s.held["other"]; n != 4 {
			t.Errorf("it has %d slots after four were given back, want 4", n)
		}
		for s.used > 0 {
			for tenant := range s.held {
				s.release(tenant)
				synctest.Wait()
				break
			}
		}
		if n := len(s.held) + len(s.queues) + len(s.order); n != 0 {
			t.Errorf("at the end it remembers %v, %v, %v", s.held, s.queues, s.order)
		}
	})
}
