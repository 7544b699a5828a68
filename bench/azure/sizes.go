package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// enabledKinds are the numbers of kinds with which measureSizes reads the memory of the API server.
var enabledKinds = []int{10, 86, 500}

func measureSizes(ctx context.Context, o flags) (err error) {
	kinds, err := committed()
	if err != nil {
		return err
	}
	r := &rig{flags: o}
	if r.all, err = catalogue.Embedded(); err != nil {
		return err
	}
	for _, k := range r.all.Kinds() { // The further ones come from all providers.
		if r.all.Default(k.Type) == k && len(k.Type)%3 == 0 && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.startCluster(ctx, nil); err != nil {
		return err
	}
	if err := r.reportSizes(ctx, nil); err != nil {
		return err
	}
	for i, n := range enabledKinds {
		before := 0
		if i > 0 {
			before = enabledKinds[i-1]
		}
		begin := time.Now()
		if err := r.enable(ctx, kinds[before:n]...); err != nil {
			return err
		}
		report(fmt.Sprintf("%d kinds enabled after %d", n, before), "%.1f s", time.Since(begin).Seconds())
		if err := r.reportSizes(ctx, kinds[:n]); err != nil {
			return err
		}
	}
	return nil
}

// reportSizes enables kinds, and reports the sizes of the CustomResourceDefinitions and the memory
// of the API server.
func (r *rig) reportSizes(ctx context.Context, kinds []*catalogue.Kind) error {
	sizes, sum := make([]int, 0, len(kinds)), 0
	for _, k := range kinds {
		crd, err := catalogue.CRD(r.all, []*catalogue.Kind{k})
		if err != nil {
			return err
		}
		text, err := json.Marshal(crd)
		if err != nil {
			return fmt.Errorf("encode a definition: %w", err)
		}
		sizes, sum = append(sizes, len(text)), sum+len(text)
	}
	slices.Sort(sizes)
	if len(sizes) > 0 {
		report(fmt.Sprintf("%d definitions: median / largest / all", len(kinds)), "%d / %d / %d kB",
			sizes[len(sizes)/2]/1000, sizes[len(sizes)-1]/1000, sum/1000)
	}
	if err := r.quiet(ctx); err != nil {
		return err
	}
	server := r.usage().server
	report(fmt.Sprintf("memory of the API server with %d kinds, at most", len(kinds)), "%d MB (%d MB)", server.RSS/1e6,
		server.Peak/1e6)
	return nil
}

// quiet waits until the API server has used less than 10% of a CPU during --settle.
func (r *rig) quiet(ctx context.Context) error {
	for range 20 {
		before := r.usage().server
		if err := pause(ctx, r.settle); err != nil {
			return err
		}
		if (r.usage().server.CPU-before.CPU)*10 < r.settle {
			return nil
		}
	}
	return errors.New("the API server does not settle")
}
