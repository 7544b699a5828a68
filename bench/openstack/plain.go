package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// plainCalls is the number of concurrent calls of the plain client.
const plainCalls = 4

// times are the durations of creation and deletion.
type times struct{ create, remove time.Duration }

// plain is an HTTP client of Neutron that knows the order of the calls.
type plain struct{ network *gophercloud.ServiceClient }

// newPlain logs in to a cloud of clouds.yaml.
func newPlain(ctx context.Context, clouds []byte, name string) (*plain, error) {
	cloud, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: clouds}, name)
	if err != nil {
		return nil, fmt.Errorf("read clouds.yaml: %w", err)
	}
	const unlimited = 1e6
	scope, err := openstack.New(openstack.Options{
		QPS: unlimited, Burst: unlimited, Timeout: 10 * time.Minute, Open: openstack.Loopback,
	}).Scope(ctx, cloud)
	if err != nil {
		return nil, err
	}
	client, err := scope.Network(ctx)
	return &plain{client}, err
}

// run creates a tree and deletes the tree, with `calls` concurrent calls.
func (p *plain) run(ctx context.Context, s shape, calls int) (t times, err error) {
	all := s.elements()
	defer func() {
		if err != nil { // Nothing else deletes the remaining resources.
			err = errors.Join(err, inOrder(context.WithoutCancel(ctx), all, calls, true, p.remove))
		}
	}()
	begin := time.Now()
	if err := inOrder(ctx, all, calls, false, p.create); err != nil {
		return t, err
	}
	t.create = time.Since(begin)
	begin = time.Now()
	if err := inOrder(ctx, all, calls, true, p.remove); err != nil {
		return t, err
	}
	t.remove = time.Since(begin)
	return t, nil
}

// alone returns the mean duration of a call without concurrent calls.
func (p *plain) alone(ctx context.Context, s shape) (times, error) {
	const samples = 3
	s.networks, s.ports = 1, min(s.ports, 1)
	var sum times
	for range samples {
		t, err := p.run(ctx, s, 1)
		if err != nil {
			return times{}, err
		}
		sum.create += t.create
		sum.remove += t.remove
	}
	calls := time.Duration(samples * len(s.elements()))
	return times{sum.create / calls, sum.remove / calls}, nil
}

func (p *plain) create(ctx context.Context, e *element) error {
	if e.kind == routerInterface {
		err := p.call(ctx, http.MethodPut, p.network.ServiceURL("routers", e.needs[0].id, "add_router_interface"),
			e.body(), nil)
		if err == nil {
			e.id = e.needs[1].id
		}
		return err
	}
	var answer map[string]struct{ ID string }
	err := p.call(ctx, http.MethodPost, p.network.ServiceURL(e.kind.plural), fields{e.kind.envelope: e.body()}, &answer)
	e.id = answer[e.kind.envelope].ID
	return err
}

func (p *plain) remove(ctx context.Context, e *element) error {
	if e.id == "" {
		return nil // The resource was never created.
	}
	method, address, body := http.MethodDelete, p.network.ServiceURL(e.kind.plural, e.id), any(nil)
	if e.kind == routerInterface {
		method, address = http.MethodPut, p.network.ServiceURL("routers", e.needs[0].id, "remove_router_interface")
		body = e.body()
	}
	err := p.call(ctx, method, address, body, nil)
	if err == nil {
		e.id = ""
	}
	return err
}

func (p *plain) call(ctx context.Context, method, address string, body, answer any) error {
	// WithoutCancel completes a POST: after an aborted POST, the ID of the new resource would be
	// unknown.
	response, err := p.network.Request(context.WithoutCancel(ctx), method, address, &gophercloud.RequestOpts{
		JSONBody: body, JSONResponse: answer,
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusNoContent},
	})
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// inOrder calls do for all elements, in `parallel` goroutines. For an element, inOrder first waits
// for do of all of element.needs or, with backwards, for do of all elements that need the element.
func inOrder(
	ctx context.Context, all []*element, parallel int, backwards bool, do func(context.Context, *element) error,
) error {
	after, done := map[*element][]*element{}, map[*element]chan struct{}{}
	for _, e := range all {
		done[e] = make(chan struct{})
		for _, n := range e.needs {
			if backwards {
				after[n] = append(after[n], e)
			} else {
				after[e] = append(after[e], n)
			}
		}
	}
	slots := make(chan struct{}, parallel)
	group, ctx := errgroup.WithContext(ctx)
	for _, e := range all {
		group.Go(func() error {
			for _, earlier := range after[e] {
				select {
				case <-done[earlier]:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := do(ctx, e); err != nil {
				return fmt.Errorf("%s %s: %w", e.kind.name, e.name, err)
			}
			close(done[e])
			return nil
		})
	}
	return group.Wait()
}
