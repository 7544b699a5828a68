package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

func sample() *report {
	r := newReport(defaults())
	r.add(latencyScenario, "created -> Ready", 0, unitMS, []float64{1, 2, 3}, []float64{4, 5, 1234.5})
	r.charge(cost{
		Scenario: latencyScenario, Operations: 3, Seconds: 2, Requests: 12, Writes: 9, Reads: 3,
		Processes: map[string]load{operatorProcess: {0.5, 40, 50}},
		Breakdown: []requestCount{{"PATCH usages", 9}, {"GET usages", 3}},
	})
	return r
}

func TestMarkdown(t *testing.T) {
	r := sample()
	r.Problems = append(r.Problems, "something is off")
	want := `
| scenario | figure | Usages | n | min | median | p90 | p99 | max | unit |
| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |
| latency | created -> Ready | 0 | 6 | 1 | 3 | 1234 | 1234 | 1234 | ms |

| scenario | Usages | s | operations | requests/s | requests each | writes each | reads each | reviews each | ` +
		`operator CPU s | apiserver CPU s | etcd CPU s | generator CPU s | CPU ms each | operator MB | peak MB |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
| latency | 0 | 2 | 3 | 6 | 4 | 3 | 1 | 0 | 0.50 | - | - | - | 167 | 40 | 50 |

Problems:

- something is off
`
	_, got, _ := strings.Cut(r.markdown(), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestText(t *testing.T) {
	got := sample().text()
	for _, want := range []string{
		"scenario  figure            Usages  n  min  median   p90   p99   max  unit",
		"latency   created -> Ready       0  6    1       3  1234  1234  1234    ms",
		"       9  PATCH usages",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no line %q in:\n%s", want, got)
		}
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	if err := sample().write(&out, "json"); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Started = got.Started
	if diff := cmp.Diff(*want, got, cmp.AllowUnexported(figure{})); diff != "" {
		t.Errorf("what is printed can be read back (-want +got):\n%s", diff)
	}
}

func TestAdd(t *testing.T) {
	r := newReport(defaults())
	r.add("s", "none", 0, unitMS)
	r.add("s", "once", 0, unitMS, []float64{1, 2, 3})
	r.add("s", "runs", 0, unitMS, []float64{1, 2, 3}, []float64{7})
	if len(r.Figures) != 2 {
		t.Fatalf("got %d figures: what was not measured is not reported", len(r.Figures))
	}
	if diff := cmp.Diff([][]float64{nil, {2, 7}}, [][]float64{r.Figures[0].Medians, r.Figures[1].Medians}); diff != "" {
		t.Errorf("runs are shown where there are several (-want +got):\n%s", diff)
	}
}

func TestChargeAddsRuns(t *testing.T) {
	r := sample()
	r.charge(cost{
		Scenario: latencyScenario, Operations: 1, Seconds: 1, Requests: 4, Writes: 4,
		Processes: map[string]load{operatorProcess: {0.25, 41, 55}},
		Breakdown: []requestCount{{"PATCH usages", 4}},
	})
	r.charge(cost{Scenario: latencyScenario, Usages: 1000})
	if len(r.Costs) != 2 {
		t.Fatalf("got %d costs: one for each scenario and number of Usages", len(r.Costs))
	}
	want := cost{
		Scenario: latencyScenario, Operations: 4, Seconds: 3, Requests: 16, Writes: 13, Reads: 3,
		Processes: map[string]load{operatorProcess: {0.75, 41, 55}},
		Breakdown: []requestCount{{"PATCH usages", 13}, {"GET usages", 3}},
	}
	if diff := cmp.Diff(want, r.Costs[0]); diff != "" {
		t.Errorf("times and requests add up, memory is the latest (-want +got):\n%s", diff)
	}
}

func TestNumber(t *testing.T) {
	got := map[float64]string{}
	for _, v := range []float64{0, 7, 1.234, 12.34, 123.4, 10000, 0.001} {
		got[v] = number(v)
	}
	want := map[float64]string{
		0: "0", 7: "7", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 10000: "10000", 0.001: "0.00",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSortedRequests(t *testing.T) {
	got := sortedRequests(gauge.Counts{
		{Verb: "POST", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"}: 2,
		{Verb: "APPLY", Resource: "configmaps"}:                                         3,
	})
	want := []requestCount{
		{"APPLY configmaps", 3},
		{"POST subjectaccessreviews.authorization.k8s.io", 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the most frequent first (-want +got):\n%s", diff)
	}
}
