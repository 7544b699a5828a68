package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

const (
	secrets     = 40
	secretBytes = 500_000
)

// memoryFigures are the results of rig.memory.
type memoryFigures struct {
	objects int
	create  time.Duration
	idle    time.Duration
	// empty, full and crowded are the gauge.Process without objects, with objects, and with objects
	// and Secrets.
	empty, full, crowded gauge.Process
	requests, calls      map[string]int
}

// memory creates many objects and reads the gauge.Process of the operator.
func (r *rig) memory(ctx context.Context) (m memoryFigures, err error) {
	if r.operatorPID == 0 {
		return m, errors.New("memory: with --kubeconfig give --operator-pid")
	}
	s := r.shape
	for s.networks = 1; len(s.elements()) < r.options.objects; {
		s.networks += 1 + (r.options.objects-len(s.elements()))/(s.ports+4)
	}
	all := s.elements()
	m.objects, m.idle = len(all), r.idle
	if m.empty, _, err = r.rest(ctx); err != nil {
		return m, err
	}
	fmt.Fprintf(os.Stderr, "Creating %d objects ...\n", len(all))
	begin := time.Now()
	slices.Reverse(all)
	if err := r.create(ctx, all); err != nil {
		return m, err
	}
	if err := r.await(ctx, firstNetworks+len(all)); err != nil {
		return m, err
	}
	m.create = time.Since(begin)
	fmt.Fprintf(os.Stderr, "They are Available after %s ...\n", seconds(m.create))
	if _, err := r.awaitQuiet(ctx); err != nil {
		return m, err
	}
	var spent tally
	if m.full, spent, err = r.rest(ctx); err != nil {
		return m, err
	}
	m.requests, m.calls = texts(spent.requests), spent.calls
	if err := r.crowd(ctx); err != nil {
		return m, err
	}
	m.crowded, _, err = r.rest(ctx)
	return m, err
}

// rest pauses for options.idle, and returns the requests and calls of the operator during the
// pause.
func (r *rig) rest(ctx context.Context) (gauge.Process, tally, error) {
	var spent tally
	before, err := r.count(ctx)
	if err != nil {
		return gauge.Process{}, spent, err
	}
	select {
	case <-time.After(r.idle):
	case <-ctx.Done():
		return gauge.Process{}, spent, ctx.Err()
	}
	after, err := r.count(ctx)
	if err != nil {
		return gauge.Process{}, spent, err
	}
	spent.calls, _ = after.since(before)
	spent.requests = gauge.Counts{}
	for q, n := range after.requests.Minus(before.requests) {
		if q.Group == groupVersion.Group || q.Resource == "secrets" {
			spent.requests[q] = n
		}
	}
	p, err := gauge.ReadProcess("/proc", r.operatorPID)
	return p, spent, err
}

// crowd creates Secrets that no object names.
func (r *rig) crowd(ctx context.Context) error {
	fmt.Fprintf(os.Stderr, "Creating %d Secrets ...\n", secrets)
	for i := range secrets {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("unrelated-%d", i)},
			StringData: map[string]string{"content": strings.Repeat("x", secretBytes)},
		}
		if _, err := r.server.CoreV1().Secrets(r.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create Secret: %w", err)
		}
	}
	return nil
}

func (m memoryFigures) print(w io.Writer) {
	fmt.Fprintf(w, "\n%d objects, Available after %s\n", m.objects, seconds(m.create))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "memory of the operator\tnow\tat most\t")
	for _, line := range []struct {
		what string
		gauge.Process
	}{
		{"without objects", m.empty},
		{"with them", m.full},
		{fmt.Sprintf("and with %d MB of Secrets", secrets*secretBytes/1_000_000), m.crowded},
	} {
		fmt.Fprintf(t, "%s\t%.1f MB\t%.1f MB\t\n", line.what, float64(line.RSS)/1e6, float64(line.Peak)/1e6)
	}
	_ = t.Flush() // Errors of the output are ignored everywhere.
	fmt.Fprintf(w, "in %s of idleness: %d requests (%s), %d calls (%s)\n", m.idle,
		sum(m.requests), list(m.requests), sum(m.calls), list(m.calls))
}
