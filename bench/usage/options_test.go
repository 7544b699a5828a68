package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestComplete(t *testing.T) {
	idleAndReleases := append([]string{idleScenario}, releases...)
	cases := map[string]struct {
		reason string
		args   []string
		want   []string
	}{
		"all":      {"all is the default", nil, names()},
		"release":  {"release is all ways of it", []string{"--scenarios", "idle,release"}, idleAndReleases},
		"one":      {"one way can be chosen", []string{"--scenarios", releaseGC}, []string{releaseGC}},
		"unknown":  {"a misspelt scenario is not skipped", []string{"--scenarios", "ilde"}, nil},
		"output":   {"nor is a misspelt form", []string{"-o", "yaml"}, nil},
		"zero":     {"nothing can be measured of nothing", []string{"--n", "0"}, nil},
		"audit":    {"only our own control plane can be told to keep a log", []string{"--audit"}, nil},
		"negative": {"a negative number of runs is none", []string{"--runs", "-1"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := defaults()
			flags := pflag.NewFlagSet("usage", pflag.ContinueOnError)
			o.addFlags(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err := o.complete()
			if c.want == nil {
				if err == nil {
					t.Errorf("%s: no error", c.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, o.scenarios); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	got := [][]int{steps(1), steps(1000), steps(10_000)}
	if diff := cmp.Diff([][]int{{1}, {1000}, {1000, 10_000}}, got); diff != "" {
		t.Errorf("a thousand on the way to more (-want +got):\n%s", diff)
	}
}

func TestPatienceGrowsWithTheWork(t *testing.T) {
	o := defaults()
	if got := o.patience(10_000); got != 11*o.timeout {
		t.Errorf("got %s", got)
	}
}
