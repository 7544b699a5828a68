package clouds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/pack/openstack"
	"github.com/kinship-dev/kinship/pkg/render"
)

// adoption is the command "kinship openstack adopt", which sets spec.adopt of restored objects.
type adoption struct {
	genericiooptions.IOStreams

	flags   *command.KubeFlags
	from    string
	dryRun  bool
	partial bool
}

// NewOpenstack returns the command "kinship openstack".
func NewOpenstack(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "openstack",
		Short: "Help with objects of OpenStack",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newAdopt(streams))
	return cmd
}

func newAdopt(streams genericiooptions.IOStreams) *cobra.Command {
	c := &adoption{IOStreams: streams, flags: command.NewKubeFlags()}
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Have restored objects take over the resources that they had",
		Long: `Have the objects of a namespace that were restored from a backup take over the
resources that the same objects had when the backup was made.

The backup tells the id of each resource in status.id. The command compares the
objects of the backup with those of the namespace, prints what it does, and
writes the id into spec.adopt. The operator then looks the resource up with the
object's own credentials, and manages it from there on: it corrects what differs
from the spec, and deletes the resource with the object.

The command needs the verbs get and patch on the objects, and create on
RouterInterfaces where a Subnet has routerRef. It changes nothing if one object
can't be adopted (--partial goes on with the others).`,
		Example: `  kubectl get openstack -n team -o yaml > backup.yaml
  kinship openstack adopt -n team --from backup.yaml --dry-run
  kinship openstack adopt -n team --from backup.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Misused(err) })
	c.flags.AddTo(cmd.Flags())
	f := cmd.Flags()
	f.StringVar(&c.from, "from", "",
		"file of the backup in YAML or JSON, a directory with such files, or - for standard input")
	f.BoolVar(&c.dryRun, "dry-run", false, "say what would be written, and write nothing")
	f.BoolVar(&c.partial, "partial", false, "go on where some objects can't be adopted, with the others")
	return required(cmd, "from")
}

func (c *adoption) run(ctx context.Context) error {
	namespace, err := c.flags.Namespace()
	if err != nil {
		return err
	}
	config, err := c.flags.Config()
	if err != nil {
		return err
	}
	backup, err := readBackup(c.from, c.In)
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	plan, err := openstack.PlanAdoption(ctx, cluster, namespace, backup)
	if err != nil {
		return err
	}
	problems, err := c.show(plan)
	if err != nil {
		return err
	}
	if problems > 0 && !c.partial {
		return fmt.Errorf("%d of %d objects can't be adopted, and nothing was changed: --partial goes on with the others",
			problems, len(plan))
	}
	if c.dryRun {
		return nil
	}
	return c.adopt(ctx, cluster, namespace, plan)
}

// show prints each openstack.Adoption, and counts the objects that can't be adopted.
func (c *adoption) show(plan []openstack.Adoption) (problems int, err error) {
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OBJECT\tRESOURCE\tACTION")
	for _, a := range plan {
		action := "adopt"
		switch {
		case a.Problem != "":
			problems++
			action = "problem: it " + a.Problem
		case a.Why != "":
			action = "nothing: it " + a.Why
		}
		id := a.ID
		if id == "" {
			id = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.Object, render.Plain(id), render.Plain(action))
	}
	return problems, w.Flush()
}

// adopt writes each openstack.Adoption of the plan, and continues after an error.
func (c *adoption) adopt(
	ctx context.Context, cluster client.Client, namespace string, plan []openstack.Adoption,
) error {
	var failed error
	done := 0
	for i := range plan {
		if !plan[i].ToDo() {
			continue
		}
		if err := plan[i].Do(ctx, cluster, namespace); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		done++
	}
	if done > 0 {
		fmt.Fprintf(c.Out, "Wrote spec.adopt of %d objects. Follow them with: "+
			"kubectl get openstack -n %s\n", done, namespace)
	}
	return failed
}

// readBackup reads the objects of a backup in YAML or JSON: a file, a folder or "-".
func readBackup(from string, in io.Reader) ([]*unstructured.Unstructured, error) {
	if from == "-" {
		return decodeBackup("standard input", in)
	}
	var all []*unstructured.Unstructured
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if path != from && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		objects, err := decodeBackup(path, bytes.NewReader(text))
		all = append(all, objects...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return all, nil
}

// decodeBackup reads documents in YAML or JSON. A List gives its items.
func decodeBackup(name string, in io.Reader) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		u, err := decodeObject(decoder)
		switch {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s is neither YAML nor JSON: %w", name, err)
		case !u.IsList():
			all = append(all, u)
			continue
		}
		list, err := u.ToList()
		if err != nil {
			return nil, fmt.Errorf("read the list in %s: %w", name, err)
		}
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
}

// decodeObject reads a document with all digits of its whole numbers. The decoder alone would make them
// floating-point numbers.
func decodeObject(decoder *yaml.YAMLOrJSONDecoder) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	var text json.RawMessage
	if err := decoder.Decode(&text); err != nil || len(text) == 0 { // The document may be empty.
		return u, err
	}
	return u, utiljson.Unmarshal(text, &u.Object)
}
