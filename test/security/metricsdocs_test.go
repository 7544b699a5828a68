package security_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

var (
	// metricRow is a row of docs/metrics.md: name, type and labels of a metric.
	metricRow = regexp.MustCompile("(?m)^\\| `(kinship_[a-z_]+)` \\| ([a-z]+) \\|([^|]*)\\|")
	// remark is a text in parentheses, such as examples of values.
	remark = regexp.MustCompile(`\([^)]*\)`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// documented returns the type and the labels of the metrics in docs/metrics.md.
func documented(t *testing.T) (types map[string]string, labels map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	types, labels = map[string]string{}, map[string][]string{}
	for _, row := range metricRow.FindAllStringSubmatch(string(text), -1) {
		types[row[1]], labels[row[1]] = row[2], []string{}
		for _, label := range quoted.FindAllStringSubmatch(remark.ReplaceAllString(row[3], ""), -1) {
			labels[row[1]] = append(labels[row[1]], label[1])
		}
		slices.Sort(labels[row[1]])
	}
	return types, labels
}

// TestMetricsDocumented compares docs/metrics.md with the metrics of an operator with all packs: names, types
// and labels. A label that is not listed there could have any number of values.
func TestMetricsDocumented(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Packs = nil })
	types, want := documented(t)
	got := map[string][]string{}
	for name, labels := range operator.Described() {
		if strings.HasPrefix(name, "kinship_") {
			got[name] = labels
		}
	}
	for _, f := range operator.Families(t) {
		if !strings.HasPrefix(f.GetName(), "kinship_") {
			continue
		}
		if kind := strings.ToLower(f.GetType().String()); types[f.GetName()] != kind {
			t.Errorf("docs/metrics.md says that %s is a %q, and it is a %s", f.GetName(), types[f.GetName()], kind)
		}
		for _, m := range f.GetMetric() {
			labels := []string{}
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetName())
			}
			got[f.GetName()] = labels
		}
	}
	for _, labels := range got {
		slices.Sort(labels)
	}
	delete(want, "kinship_pack_stopped") // Only a pack that is stopped has it.
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-docs/metrics.md +operator):\n%s", diff)
	}
	for name, labels := range got {
		for _, forbidden := range []string{"namespace", "object", "uid", "user"} {
			if slices.Contains(labels, forbidden) {
				t.Errorf("%s has the label %s, whose values are chosen by users", name, forbidden)
			}
		}
	}
}
