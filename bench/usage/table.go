package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table has rows of cells below a head. The first table.words columns have words, the others
// numbers.
type table struct {
	words int
	head  []string
	rows  [][]string
}

func (r *report) figureTable() table {
	t := table{words: 2, head: []string{
		"scenario", "figure", "Usages", "n", "min", "median", "p90", "p99", "max", "unit",
	}}
	for _, f := range r.Figures {
		t.rows = append(t.rows, []string{
			f.Scenario, f.Name, strconv.Itoa(f.Usages), strconv.Itoa(f.N),
			number(f.Min), number(f.Median), number(f.P90), number(f.P99), number(f.Max), f.Unit,
		})
	}
	return t
}

func (r *report) costTable() table {
	t := table{words: 1, head: []string{
		"scenario", "Usages", "s", "operations", "requests/s", "requests each", "writes each", "reads each", "reviews each",
	}}
	for _, name := range processNames {
		t.head = append(t.head, name+" CPU s")
	}
	t.head = append(t.head, "CPU ms each", "operator MB", "peak MB")
	for _, c := range r.Costs {
		row := []string{
			c.Scenario, strconv.Itoa(c.Usages), number(c.Seconds), strconv.Itoa(c.Operations),
			number(float64(c.Requests) / c.Seconds),
			c.each(c.Requests), c.each(c.Writes), c.each(c.Reads), c.each(c.Reviews),
		}
		for _, name := range processNames {
			row = append(row, c.processes(name, func(l load) float64 { return l.CPUSeconds }))
		}
		t.rows = append(t.rows, append(row,
			c.cpuEach(),
			c.processes(operatorProcess, func(l load) float64 { return l.MemoryMB }),
			c.processes(operatorProcess, func(l load) float64 { return l.PeakMB })))
	}
	return t
}

// each returns the number of requests per operation; idleScenario has no operations.
func (c cost) each(n int) string {
	if c.Operations == 0 {
		return "-"
	}
	return number(float64(n) / float64(c.Operations))
}

// cpuEach returns the CPU time of all processes for one operation, in milliseconds. Unlike rates
// and latencies, cpuEach does not change with other load on the machine.
func (c cost) cpuEach() string {
	if c.Operations == 0 || len(c.Processes) == 0 {
		return "-"
	}
	sum := 0.0
	for _, l := range c.Processes {
		sum += l.CPUSeconds
	}
	return number(sum * 1000 / float64(c.Operations))
}

func (c cost) processes(name string, value func(load) float64) string {
	l, ok := c.Processes[name]
	if !ok {
		return "-"
	}
	return number(value(l))
}

// number formats about three digits: more digits would be noise.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
}

func (t table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.head)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "--:"
		if i < t.words {
			rule[i] = "---"
		}
	}
	line(rule)
	for _, row := range t.rows {
		line(row)
	}
	return b.String()
}

// text aligns words to the left and numbers to the right.
func (t table) text() string {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.words {
				line.WriteString(cell + blanks + "  ")
			} else {
				line.WriteString(blanks + cell + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
