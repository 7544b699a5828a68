package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// wakes are the times from a watch event with an Available Network until a watch event with the
// waiting Subnet Available.
type wakes []time.Duration

// wake creates one Subnet after the other, each before its Network.
func (r *rig) wake(ctx context.Context) (wakes, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	fmt.Fprintf(os.Stderr, "Waking %d Subnets ...\n", r.wakes)
	var all wakes
	shape := shape{networks: r.wakes}
	elements := shape.elements()
	for i := range r.wakes {
		pair := []*element{elements[i], elements[r.wakes+i]} // elements has the Networks first.
		took, err := r.wakeOne(ctx, pair[0], pair[1], firstNetworks+2*i)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	slices.Sort(all)
	slices.Reverse(elements)
	if err := r.remove(ctx, elements); err != nil {
		return nil, err
	}
	return all, r.await(ctx, firstNetworks)
}

// wakeOne creates a Subnet, waits for its Progressing message, and creates its Network. The
// parameter before is the number of objects so far.
func (r *rig) wakeOne(ctx context.Context, net, sub *element, before int) (time.Duration, error) {
	if err := r.create(ctx, []*element{sub}); err != nil {
		return 0, err
	}
	if err := r.seen.says(ctx, sub, "Waiting for Network/"+net.name+" to be created"); err != nil {
		return 0, err
	}
	if err := r.create(ctx, []*element{net}); err != nil {
		return 0, err
	}
	if err := r.seen.until(ctx, before+2); err != nil {
		return 0, err
	}
	return r.seen.since(sub).Sub(r.seen.since(net)), nil
}

func (w wakes) print(out io.Writer) {
	fmt.Fprintf(out, "\nNetwork Available -> the Subnet that waited for it Available, %d times: "+
		"median %s, p99 %s, at most %s\n", len(w), millis(w[len(w)/2]), millis(w[len(w)*99/100]), millis(w[len(w)-1]))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1000) }
