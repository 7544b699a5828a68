package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cli/clouds"
	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/pkg/render"
)

// errFindings ends a command with exit code 1. The report is the message.
var errFindings = errors.New("")

// doctorCommand is the command "kinship doctor".
type doctorCommand struct {
	operatorCommand

	output string
}

// doctorOutputs are the values of --output.
var doctorOutputs = []string{"text", "json", "yaml"}

func newDoctor(version string, streams genericiooptions.IOStreams) *cobra.Command {
	c := doctorCommand{operatorCommand: asOperator(streams)}
	c.brief = true
	c.options.Version = version
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check an installation, and say what to do",
		Long: `Check the definitions, rights, webhooks, policies and certificate of an installation, and
its operators. Nothing is changed; webhooks are tried by dry runs.

Packs, kinds and namespaces are those of the operator that runs, or of the objects in the
cluster; a flag overrides them. Each finding names an object, a field, a reason and what to
do. The exit code is 0 without findings, 1 with findings or after an error, and 2 for wrong
flags.`,
		Example: "  kinship doctor\n  kinship doctor -o json | jq '.checks[].findings[]'",
		Args:    cobra.NoArgs,
		RunE:    c.run,
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Misused(err) })
	c.flags.WithoutNamespace() // The operator's namespace has a fixed name.
	c.flags.AddTo(cmd.Flags())
	addPacks(cmd.Flags(), &c.options, "those that are installed or that an operator runs")
	c.addInstallationFlags(cmd.Flags(), "", "")
	c.addCatalogueFlag(cmd.Flags())
	cmd.Flags().StringVarP(&c.output, "output", "o", doctorOutputs[0], "one of "+strings.Join(doctorOutputs, ", "))
	return cmd
}

func (c *doctorCommand) run(cmd *cobra.Command, _ []string) error {
	if !slices.Contains(doctorOutputs, c.output) {
		return command.Misused(fmt.Errorf("no output %q: there are %s", c.output, strings.Join(doctorOutputs, ", ")))
	}
	if err := c.parseKinds(); err != nil {
		return command.Misused(err)
	}
	var err error
	if c.options.Azure.Catalogue, err = clouds.ReadCatalogue(c.catalogue); err != nil {
		return command.Misused(err)
	}
	if err := c.complete(); err != nil {
		return err
	}
	now := time.Now()
	report, err := doctor.Examine(cmd.Context(), c.options, now)
	if err != nil {
		return err
	}
	if err := c.print(report, now); err != nil {
		return err
	}
	if !report.Healthy {
		return errFindings
	}
	return nil
}

func (c *doctorCommand) print(report *doctor.Diagnosis, now time.Time) error {
	switch c.output {
	case "json":
		return render.JSON(c.Out, report)
	case "yaml":
		text, err := yaml.Marshal(report)
		if err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
		_, err = c.Out.Write(text)
		return err
	default:
		printDiagnosis(c.Out, report, now)
		return nil
	}
}

// printDiagnosis prints a report for people: a line for each check, and below it the findings.
func printDiagnosis(w io.Writer, report *doctor.Diagnosis, now time.Time) {
	packs := "no packs"
	if len(report.Packs) > 0 {
		packs = "packs " + strings.Join(report.Packs, ", ")
	}
	fmt.Fprintf(w, "Kinship with %s\n", packs)
	for _, o := range report.Operators {
		version := "of an earlier release"
		if o.Settings != nil {
			version = o.Settings.Version
		}
		fmt.Fprintf(w, "Operator %s %s, which was alive %s ago\n", render.Plain(o.Holder), render.Plain(version),
			duration.HumanDuration(now.Sub(o.Renewed)))
	}
	findings := 0
	for _, check := range report.Checks {
		findings += len(check.Findings)
		if len(check.Findings) == 0 {
			fmt.Fprintf(w, "✓ %s: %d checked\n", check.Name, check.Checked)
			continue
		}
		fmt.Fprintf(w, "✗ %s: %d checked\n", check.Name, check.Checked)
		for _, f := range check.Findings {
			place := f.Object.String()
			if f.Field != "" {
				place += ", " + f.Field
			}
			fmt.Fprintf(w, "  %s: %s: %s\n    To do: %s\n", f.Reason, render.Plain(place), render.Plain(f.Message), f.Action)
		}
	}
	switch findings {
	case 0:
	case 1:
		fmt.Fprintln(w, "1 finding")
	default:
		fmt.Fprintf(w, "%d findings\n", findings)
	}
}
