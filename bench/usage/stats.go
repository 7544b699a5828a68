package main

import (
	"math"
	"slices"
	"time"
)

// distribution has the reported statistics of a number of values.
type distribution struct {
	N      int     `json:"n"`
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Max    float64 `json:"max"`
}

// distribute returns the distribution of values; without values, the zero distribution.
func distribute(values []float64) distribution {
	if len(values) == 0 {
		return distribution{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return distribution{
		N:      len(sorted),
		Min:    sorted[0],
		Median: percentile(sorted, 50),
		P90:    percentile(sorted, 90),
		P99:    percentile(sorted, 99),
		Max:    sorted[len(sorted)-1],
	}
}

// percentile returns the smallest of the sorted values that p percent of the values do not exceed
// (nearest rank). percentile never interpolates: its result is always a measured value.
func percentile(sorted []float64, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
