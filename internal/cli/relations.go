package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/app"
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
				return misused(fmt.Errorf("--output is one of %s", strings.Join(outputs, ", ")))
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", output, "one of "+strings.Join(outputs, ", "))
	return cmd
}

// relationRows returns a row for each relation of each pack.
func relationRows() (header []string, rows [][]string) {
	for _, p := range app.Packs(app.Options{}) {
		for _, r := range p.Relations() {
			rows = append(rows, []string{p.Name, r.Name, string(r.Role), r.Declarer.String(), r.Doc})
		}
	}
	return []string{"PACK", "RELATION", "ROLE", "DECLARER", "MEANING"}, rows
}

// writeRelations writes the page of the documentation.
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
}
