package config_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what of a Grafana dashboard says what is asked for.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

var (
	// listed are the first columns of tables.
	listed = regexp.MustCompile("(?m)^\\| `([a-z_`, ]+)`")
	// grouped are the labels of a sum, named what is asked for.
	grouped = regexp.MustCompile(`by \([^)]*\)`)
	named   = regexp.MustCompile(`\b[a-z]+_[a-z_]+\b(?:\{|\[|\)| |$)`)
)

// TestDashboard: every metric that the dashboard asks for is one that docs/metrics.md
// lists, and it shows all that are Kinship's own.
func TestDashboard(t *testing.T) {
	docs, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := listed.FindAllStringSubmatch(string(docs), -1)
	metrics := make([]string, 0, len(rows))
	for _, row := range rows {
		metrics = append(metrics, strings.Split(row[1], "`, `")...)
	}
	if len(metrics) < 15 {
		t.Fatalf("docs/metrics.md lists %v", metrics)
	}
	text, err := os.ReadFile("grafana/kinship.json")
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range asked(target.Expr) {
				shown[name] = true
				if !slices.Contains(metrics, name) {
					t.Errorf("panel %q asks for %s, which docs/metrics.md does not list", p.Title, name)
				}
			}
		}
	}
	for _, m := range metrics {
		if strings.HasPrefix(m, "kinship_") && !shown[m] {
			t.Errorf("no panel shows %s", m)
		}
	}
}

// asked returns the metrics that a query is about.
func asked(expr string) []string {
	var all []string
	for _, name := range named.FindAllString(grouped.ReplaceAllString(expr, ""), -1) {
		name = strings.TrimRight(name, "{[) ")
		if name == "histogram_quantile" {
			continue
		}
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			if whole, histogram := strings.CutSuffix(name, part); histogram && !strings.HasSuffix(whole, "rejection") {
				name = whole
			}
		}
		all = append(all, name)
	}
	return all
}
