package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

// Units of figures, the values of figure.Unit.
const (
	unitMS   = "ms"
	unitS    = "s"
	unitPerS = "1/s"
	unitMB   = "MB"
)

// figure is a measured quantity.
type figure struct {
	Scenario string `json:"scenario"`
	Name     string `json:"name"`
	// Usages is the number of other Usages at the time.
	Usages int    `json:"usages"`
	Unit   string `json:"unit,omitempty"`
	distribution
	// Medians are the medians of the runs; Medians show whether the runs agree.
	Medians []float64 `json:"medians,omitempty"`
}

// report has all results.
type report struct {
	Started  time.Time `json:"started"`
	Usage    string    `json:"usage"`
	CPUs     int       `json:"cpus"`
	N        int       `json:"n"`
	Runs     int       `json:"runs"`
	Figures  []figure  `json:"figures"`
	Costs    []cost    `json:"costs"`
	Problems []string  `json:"problems"`
}

func newReport(o *options) *report {
	return &report{
		Started: time.Now().UTC().Truncate(time.Second),
		Usage:   o.usage.resource + "." + o.usage.group + "/" + o.usage.version,
		CPUs:    runtime.NumCPU(), N: o.n, Runs: o.runs,
		Figures: []figure{}, Costs: []cost{}, Problems: []string{},
	}
}

// add adds a figure from the values of each run. Without values, add adds no figure.
func (r *report) add(scenario, name string, usages int, unit string, runs ...[]float64) {
	all := slices.Concat(runs...)
	if len(all) == 0 {
		return
	}
	f := figure{Scenario: scenario, Name: name, Usages: usages, Unit: unit, distribution: distribute(all)}
	if len(runs) > 1 {
		for _, run := range runs {
			f.Medians = append(f.Medians, distribute(run).Median)
		}
	}
	r.Figures = append(r.Figures, f)
}

// charge adds a cost to the costs of earlier runs of the same scenario.
func (r *report) charge(c cost) {
	i := slices.IndexFunc(r.Costs, func(other cost) bool {
		return other.Scenario == c.Scenario && other.Usages == c.Usages
	})
	if i < 0 {
		r.Costs = append(r.Costs, c)
		return
	}
	r.Costs[i] = r.Costs[i].plus(c)
}

// plus adds the cost of a later run of the same scenario. load.MemoryMB is that of the later run.
func (c cost) plus(later cost) cost {
	c.Operations += later.Operations
	c.Seconds += later.Seconds
	c.Requests += later.Requests
	c.Reads += later.Reads
	c.Writes += later.Writes
	c.Reviews += later.Reviews
	c.Own += later.Own
	c.Breakdown = sumCounts(c.Breakdown, later.Breakdown)
	c.Clients = sumCounts(c.Clients, later.Clients)
	processes := map[string]load{}
	for name, l := range later.Processes {
		l.CPUSeconds += c.Processes[name].CPUSeconds
		processes[name] = l
	}
	c.Processes = processes
	return c
}

func sumCounts(a, b []requestCount) []requestCount {
	sum := map[string]int{}
	for _, line := range slices.Concat(a, b) {
		sum[line.Request] += line.Count
	}
	return sortedCounts(sum)
}

// requestCount is a line of cost.Breakdown or cost.Clients.
type requestCount struct {
	Request string `json:"request"`
	Count   int    `json:"count"`
}

// sortedRequests lists the most frequent requests first.
func sortedRequests(c gauge.Counts) []requestCount {
	lines := map[string]int{}
	for key, n := range c {
		lines[key.String()] = n
	}
	return sortedCounts(lines)
}

// sortedCounts lists the most frequent requests first.
func sortedCounts(count map[string]int) []requestCount {
	if len(count) == 0 {
		return nil
	}
	lines := make([]requestCount, 0, len(count))
	for request, n := range count {
		lines = append(lines, requestCount{request, n})
	}
	slices.SortFunc(lines, func(a, b requestCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Request, b.Request))
	})
	return lines
}

// write writes the report as text, JSON or markdown.
func (r *report) write(out io.Writer, form string) error {
	var err error
	switch form {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	case "markdown":
		_, err = io.WriteString(out, r.markdown())
	default:
		_, err = io.WriteString(out, r.text())
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func (r *report) title() string {
	return fmt.Sprintf("%s, N = %d, %d runs, %d CPUs, %s", r.Usage, r.N, r.Runs, r.CPUs, r.Started.Format(time.DateOnly))
}

// markdown returns figureTable and costTable for a README.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n%s", r.title(), r.figureTable().markdown(), r.costTable().markdown())
	if len(r.Problems) > 0 {
		b.WriteString("\nProblems:\n\n")
		for _, problem := range r.Problems {
			fmt.Fprintf(&b, "- %s\n", problem)
		}
	}
	return b.String()
}

// shownRequests is the number of cost.Breakdown lines in the text form; JSON has all lines.
const shownRequests = 12

// text returns figureTable and costTable, and the requests of each client.
func (r *report) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n%s", r.title(), r.figureTable().text(), r.costTable().text())
	for _, c := range r.Costs {
		fmt.Fprintf(&b, "\n%s, %d Usages: requests that the generator did not send\n", c.Scenario, c.Usages)
		lines := c.Breakdown
		if len(c.Clients) > 0 {
			lines = c.Clients
		}
		for _, line := range lines[:min(shownRequests, len(lines))] {
			fmt.Fprintf(&b, "%8d  %s\n", line.Count, line.Request)
		}
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(&b, "\nPROBLEM: %s\n", problem)
	}
	return b.String()
}
