package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/relation/builtin"
	"github.com/kinship-dev/kinship/pkg/render"
)

func newRelations(streams genericiooptions.IOStreams) *cobra.Command {
	outputs := []string{"table", "markdown"}
	output := outputs[0]
	cmd := &cobra.Command{
		Use:   "relations",
		Short: "List the relations that the packs declare",
		Long: `List what kinds of objects declare relations to others, and what follows from
that. It asks no cluster. docs/relations.md is made with it.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			switch output {
			case "table":
				header, rows := relationRows()
				return render.Table(streams.Out, header, rows)
			case "markdown":
				writeRelations(streams.Out)
				return nil
			default:
				return command.Misused(fmt.Errorf("--output is one of %s", strings.Join(outputs, ", ")))
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "one of "+strings.Join(outputs, ", "))
	return cmd
}

// relationRows returns a row for each Relation in Pack.Relations() of each pack.
func relationRows() (header []string, rows [][]string) {
	for _, p := range options.Packs(options.Options{}) {
		for _, r := range p.Relations() {
			rows = append(rows, append([]string{p.Name}, r.Row()...))
		}
	}
	return append([]string{"PACK"}, relation.RowHeader...), rows
}

// writeRelations writes docs/relations.md.
func writeRelations(w io.Writer) {
	fmt.Fprint(w, "# Relations\n\nMade by `make generate` from what the packs declare. "+
		"What a role means is in [pkg/relation](../pkg/relation/relation.go).\n\n")
	header, rows := relationRows()
	line := func(cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		line(row)
	}
	fmt.Fprint(w, "\n## Kubernetes' own kinds\n\n`who-uses`, `tree` and `why` know these references. "+
		"Nobody enforces them, but for the two protections of volumes and claims.\n\n")
	line([]string{"FIELD", "NAMES", "ROLE", "OF"})
	line(slices.Repeat([]string{"---"}, 4))
	for _, row := range builtInRows() {
		line(row)
	}
}

// builtInRows returns a row for each Relation in builtin.Relations(). Kinds with the same
// field, such as Deployment and DaemonSet with a Pod template, are in 1 row.
func builtInRows() [][]string {
	var rows [][]string
	at := map[string]int{}
	for _, r := range builtin.Relations() {
		target := "any kind"
		if r.Target.Kind != "" {
			target = r.Target.String()
		}
		key := strings.Join([]string{r.Field, target, string(r.Role)}, " ")
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(rows)
			rows = append(rows, []string{"`" + r.Field + "`", target, string(r.Role), r.Declarer.String()})
		case !slices.Contains(strings.Split(rows[i][3], ", "), r.Declarer.String()):
			rows[i][3] += ", " + r.Declarer.String()
		}
	}
	return rows
}
