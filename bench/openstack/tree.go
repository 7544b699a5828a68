package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

// figures are the results of rig.tree.
type figures struct {
	shape

	latency                    time.Duration
	objects, depth             int
	sent                       time.Duration
	took, alone, before, after times
	calls, removals            map[string]int
	writes, removalWrites      gauge.Counts
}

// tree calls declare between two runs of the plain client.
func (r *rig) tree(ctx context.Context, latency time.Duration) (f figures, err error) {
	r.setLatency(latency)
	defer r.setLatency(0)
	all := r.elements()
	f = figures{shape: r.shape, latency: latency, objects: len(all), depth: depth(all)}
	fmt.Fprintf(os.Stderr, "Measuring %d objects ...\n", len(all))
	if _, err = r.plain.run(ctx, shape{networks: firstNetworks}, plainCalls); err != nil {
		return f, fmt.Errorf("the plain client: %w", err)
	}
	if f.alone, err = r.plain.alone(ctx, r.shape); err != nil {
		return f, fmt.Errorf("the plain client: %w", err)
	}
	if f.before, err = r.plain.run(ctx, r.shape, plainCalls); err != nil {
		return f, fmt.Errorf("the plain client: %w", err)
	}
	if err := r.declare(ctx, all, &f); err != nil {
		return f, err
	}
	if f.after, err = r.plain.run(ctx, r.shape, plainCalls); err != nil {
		return f, fmt.Errorf("the plain client: %w", err)
	}
	return f, nil
}

// declare creates all objects, waits until all are Available, and deletes all objects.
func (r *rig) declare(ctx context.Context, all []*element, f *figures) error {
	start, err := r.count(ctx)
	if err != nil {
		return err
	}
	dependentsFirst := slices.Clone(all)
	slices.Reverse(dependentsFirst)
	begin := time.Now()
	if err := r.create(ctx, dependentsFirst); err != nil {
		return err
	}
	f.sent = time.Since(begin)
	if err := r.await(ctx, firstNetworks+len(all)); err != nil {
		return err
	}
	f.took.create = time.Since(begin)
	middle, err := r.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	begin = time.Now()
	if err := r.remove(ctx, all); err != nil {
		return err
	}
	if err := r.await(ctx, firstNetworks); err != nil {
		return err
	}
	f.took.remove = time.Since(begin)
	end, err := r.awaitQuiet(ctx)
	if err != nil {
		return err
	}
	f.calls, f.writes = middle.since(start)
	f.removals, f.removalWrites = end.since(middle)
	return nil
}

// awaitQuiet waits until 1 second passes without a call or a write.
func (r *rig) awaitQuiet(ctx context.Context) (tally, error) {
	const quiet = time.Second
	last, err := r.count(ctx)
	for err == nil {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return last, ctx.Err()
		}
		var now tally
		if now, err = r.count(ctx); err != nil {
			break
		}
		calls, writes := now.since(last)
		if len(calls) == 0 && len(writes) == 0 {
			return now, nil
		}
		last = now
	}
	return last, err
}

// since returns the difference to an earlier tally: calls to Neutron, and writes of
// openstack.k-orc.cloud objects and of Secrets.
func (t tally) since(before tally) (calls map[string]int, writes gauge.Counts) {
	if t.calls != nil {
		calls = map[string]int{}
	}
	for call, n := range t.calls {
		if more := n - before.calls[call]; more > 0 && strings.Contains(call, " network/") {
			calls[call] = more
		}
	}
	writes = t.requests.Minus(before.requests)
	maps.DeleteFunc(writes, func(q gauge.Request, _ int) bool {
		return q.Class() != gauge.Writes || q.Group != groupVersion.Group && q.Resource != "secrets"
	})
	return calls, writes
}

// print writes the figures.
func (f figures) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d Networks with a Subnet and %d Ports", f.networks, f.ports)
	if f.perRouter > 0 {
		fmt.Fprintf(w, " and a RouterInterface, %d to a Router", f.perRouter)
	}
	fmt.Fprintf(w, ": %d objects", f.objects)
	if f.calls != nil {
		fmt.Fprintf(w, "; calls take %s", f.latency)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tcreated\tdeleted\t")
	fmt.Fprintf(t, "all at once\t%s\t%s\tall sent after %s\n",
		seconds(f.took.create), seconds(f.took.remove), seconds(f.sent))
	fmt.Fprintf(t, "critical path\t%s\t%s\t%d calls of %d and %d ms\n", seconds(f.path(f.alone.create)),
		seconds(f.path(f.alone.remove)), f.depth, f.alone.create.Milliseconds(), f.alone.remove.Milliseconds())
	mean := times{(f.before.create + f.after.create) / 2, (f.before.remove + f.after.remove) / 2}
	fmt.Fprintf(t, "plain, %d calls at a time\t%s\t%s\tbefore %s and %s, after %s and %s\n", plainCalls,
		seconds(mean.create), seconds(mean.remove), seconds(f.before.create), seconds(f.before.remove),
		seconds(f.after.create), seconds(f.after.remove))
	fmt.Fprintf(t, "ratio to plain\t%.2f\t%.2f\t\n", ratio(f.took.create, mean.create), ratio(f.took.remove, mean.remove))
	if f.calls != nil {
		fmt.Fprintf(t, "calls for each object\t%.2f\t%.2f\t\n", f.each(sum(f.calls)), f.each(sum(f.removals)))
	}
	fmt.Fprintf(t, "writes for each object\t%.2f\t%.2f\tbut for the %d and %d of this program\n",
		f.each(f.writes.Total()-f.objects), f.each(f.removalWrites.Total()-f.objects), f.objects, f.objects)
	_ = t.Flush() // Errors of the output are ignored everywhere.
	fmt.Fprintf(w, "created by %s\n  and %s\ndeleted by %s\n  and %s\n", list(f.calls), list(texts(f.writes)),
		list(f.removals), list(texts(f.removalWrites)))
}

// path returns the duration of figures.depth sequential calls.
func (f figures) path(call time.Duration) time.Duration { return call * time.Duration(f.depth) }

func (f figures) each(n int) float64 { return float64(n) / float64(f.objects) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func ratio(a, b time.Duration) float64 { return a.Seconds() / max(b.Seconds(), 1e-9) }

func sum(counts map[string]int) int {
	n := 0
	for _, more := range counts {
		n += more
	}
	return n
}

// texts returns the counts by gauge.Request.String() without the API group.
func texts(counts gauge.Counts) map[string]int {
	named := map[string]int{}
	for q, n := range counts {
		q.Group = ""
		named[q.String()] += n
	}
	return named
}

// list returns counts in a line, sorted by key.
func list(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[what], what))
	}
	return strings.Join(parts, ", ")
}
