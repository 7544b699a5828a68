package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDistribute(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	cases := map[string]struct {
		reason string
		values []float64
		want   distribution
	}{
		"none":    {"nothing measured is not a failure", nil, distribution{}},
		"one":     {"one value is every percentile", []float64{7}, distribution{1, 7, 7, 7, 7, 7}},
		"two":     {"the median is a value that was seen", []float64{3, 1}, distribution{2, 1, 1, 3, 3, 3}},
		"hundred": {"order does not matter, and p99 is not the maximum", hundred, distribution{100, 1, 50, 90, 99, 100}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, distribute(c.values)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestDistributeKeepsItsInput(t *testing.T) {
	values := []float64{3, 1, 2}
	distribute(values)
	if diff := cmp.Diff([]float64{3, 1, 2}, values); diff != "" {
		t.Errorf("the order of the values is their order in time (-want +got):\n%s", diff)
	}
}

func TestMilliseconds(t *testing.T) {
	if got := milliseconds(1500 * time.Microsecond); got != 1.5 {
		t.Errorf("got %v, want 1.5", got)
	}
}
