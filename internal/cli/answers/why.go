package answers

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/render"
)

// NewWhy returns the command "kinship why".
func NewWhy(streams genericiooptions.IOStreams) *cobra.Command {
	q := newQuestion(streams, "text", "json")
	q.answer = func(ctx context.Context, cluster *lineage.Cluster, node *lineage.Node) error {
		explanation, err := cluster.Explain(ctx, node)
		if err != nil {
			return err
		}
		err = q.writeExplanation(explanation)
		q.warn(explanation.Skipped)
		return err
	}
	return q.command(&cobra.Command{
		Use:   "why",
		Short: "Say why an object is not ready or still there, and who has to act",
		Long: `Say why an object is not ready, why it is still there although it was deleted, or
why its deletion would be refused or would wait. Waits are followed to their
root, and the last line is the step to take next.`,
		Example: `  kinship why cluster.eks.upbound.io/my-cluster
  kinship why namespace prod`,
	})
}

func (q *question) writeExplanation(e *lineage.Explanation) error {
	if q.output == "json" {
		findings := e.Findings
		if findings == nil {
			findings = []*lineage.Finding{}
		}
		return render.JSON(q.Out, struct {
			Schema   string             `json:"schema"`
			Object   nodeDocument       `json:"object"`
			Findings []*lineage.Finding `json:"findings"`
			Next     string             `json:"next"`
			Skipped  []lineage.Skipped  `json:"skipped,omitempty"`
		}{"kinship.dev/why/v1alpha1", nodeOf(e.Node), findings, e.Next, e.Skipped})
	}
	head := &render.Tree{Cells: []render.Cell{render.Text(headline(e.Node, time.Now()))}}
	head.Below = findingLines(e.Findings)
	if err := render.Lines(q.Out, nil, []*render.Tree{head}, false); err != nil {
		return err
	}
	_, err := fmt.Fprintf(q.Out, "Next: %s.\n", strings.TrimSuffix(render.Plain(e.Next), "."))
	return err
}

func headline(n *lineage.Node, now time.Time) string {
	text := fmt.Sprintf("%s is %s", n.ID, n.Status)
	if n.Deleted != nil {
		return text + ": it was deleted " + duration.HumanDuration(now.Sub(*n.Deleted)) + " ago"
	}
	if n.Status != lineage.Current && n.Message != "" {
		text += ": " + lines(n.Message)
	}
	return text
}

// lines joins the lines of a message by "; ".
func lines(message string) string { return strings.ReplaceAll(message, "\n", "; ") }

func findingLines(findings []*lineage.Finding) []*render.Tree {
	lines := make([]*render.Tree, 0, len(findings))
	for _, f := range findings {
		lines = append(lines, &render.Tree{
			Cells: []render.Cell{render.Text(f.Text)}, Below: findingLines(f.Because),
		})
	}
	return lines
}
