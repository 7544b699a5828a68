package answers

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/relation/builtin"
	"github.com/kinship-dev/kinship/pkg/render"
)

// question has the fields of the commands that ask about one object, such as [NewTree]. The commands only read, and
// need no running operator.
type question struct {
	genericiooptions.IOStreams

	flags   *command.KubeFlags
	output  string
	outputs []string
	answer  func(context.Context, *lineage.Cluster, *lineage.Node) error
}

func newQuestion(streams genericiooptions.IOStreams, outputs ...string) *question {
	return &question{IOStreams: streams, flags: command.NewKubeFlags(), outputs: outputs}
}

// command adds arguments, kubectl flags and RunE to a cobra.Command that has its texts.
func (q *question) command(cmd *cobra.Command) *cobra.Command {
	cmd.Use += " (KIND/NAME | KIND NAME)"
	cmd.Args = func(_ *cobra.Command, args []string) error {
		_, _, err := lineage.SplitName(args)
		return command.Misused(err)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Misused(err) })
	cmd.RunE = q.runCommand
	q.flags.AddTo(cmd.Flags())
	cmd.Flags().StringVarP(&q.output, "output", "o", q.outputs[0], "one of "+strings.Join(q.outputs, ", "))
	return cmd
}

func (q *question) runCommand(cmd *cobra.Command, args []string) error {
	return q.run(cmd.Context(), args)
}

func (q *question) run(ctx context.Context, args []string) error {
	if !slices.Contains(q.outputs, q.output) {
		return command.Misused(fmt.Errorf("no output %q: there are %s", q.output, strings.Join(q.outputs, ", ")))
	}
	kind, name, err := lineage.SplitName(args)
	if err != nil {
		return command.Misused(err)
	}
	namespace, err := q.flags.Namespace()
	if err != nil {
		return err
	}
	config, err := q.flags.Config()
	if err != nil {
		return err
	}
	options, err := lineageOptions()
	if err != nil {
		return err
	}
	cluster, err := lineage.New(ctx, config, options)
	if err != nil {
		return err
	}
	node, err := cluster.Find(ctx, kind, name, namespace)
	if err != nil {
		return q.explainAbsence(ctx, cluster, err)
	}
	return q.answer(ctx, cluster, node)
}

// lineageOptions returns the Relations, Finalizers and Locks of all packs, and how to find the relations of
// kinds that are installed at run time. The kinds of a
// pack that is not installed are not served, so lineage.Cluster reads nothing for them.
func lineageOptions() (lineage.Options, error) {
	scheme := runtime.NewScheme()
	o := lineage.Options{References: builtin.Relations()}
	var discover []func(schema.GroupVersionKind) []relation.Relation
	for _, p := range options.Packs(options.Options{}) {
		if err := p.AddToScheme(scheme); err != nil {
			return lineage.Options{}, fmt.Errorf("make scheme: %w", err)
		}
		o.Relations = append(o.Relations, p.Relations()...)
		if p.Discover != nil {
			discover = append(discover, p.Discover)
		}
		o.Finalizers = append(o.Finalizers, p.Finalizers...)
		o.Locks = append(o.Locks, p.Locks...)
	}
	o.Discover = func(served schema.GroupVersionKind) (all []relation.Relation) {
		for _, of := range discover {
			all = append(all, of(served)...)
		}
		return all
	}
	o.Decode = func(u *unstructured.Unstructured) (client.Object, error) { return decode(scheme, o.Finalizers, u) }
	return o, nil
}

// decode converts a declaring object to the Go type that Relation.Extract reads. All API
// versions of a kind have one schema, so decode takes the first version in the scheme.
//
// A Usage without a finalizer declares no edges. decode adds the finalizers with
// WaitsForSources, so that "kinship why" shows a Usage that no operator has seen. The
// conditions of the Usage tell whether the Usage is in force.
func decode(
	scheme *runtime.Scheme, finalizers []lineage.Finalizer, u *unstructured.Unstructured,
) (client.Object, error) {
	gvk := u.GroupVersionKind()
	versions := scheme.VersionsForGroupKind(gvk.GroupKind())
	if len(versions) == 0 { // The kind was found by Pack.Discover.
		return external.NewUnstructured(gvk).Adapt(u)
	}
	made, err := scheme.New(versions[0].WithKind(gvk.Kind))
	if err != nil {
		return nil, err
	}
	typed, ok := made.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%s is not a kind of objects", gvk.GroupKind())
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		return nil, err
	}
	for _, f := range finalizers {
		if f.Waits == lineage.WaitsForSources {
			controllerutil.AddFinalizer(typed, f.Name)
		}
	}
	return typed, nil
}

// colour reports whether a writer is a terminal, and NO_COLOR is not set.
func colour(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// warn prints the kinds that an answer could not see to IOStreams.ErrOut, after the answer. JSON has the field skipped.
func (q *question) warn(skipped []lineage.Skipped) {
	if text := unseen(skipped); text != "" && q.output != "json" {
		fmt.Fprintln(q.ErrOut, text)
	}
}

// maxUnseen is how many kinds unseen names for each cause.
const maxUnseen = 5

// unseen returns one line about the kinds that an answer could not see, or "".
func unseen(skipped []lineage.Skipped) string {
	if len(skipped) == 0 {
		return ""
	}
	var causes []string
	resources := map[string][]string{}
	for _, s := range skipped {
		cause := s.Where() + " (" + s.Reason + ")"
		if _, known := resources[cause]; !known {
			causes = append(causes, cause)
		}
		resources[cause] = append(resources[cause], s.GroupResource().String())
	}
	texts := make([]string, 0, len(causes))
	for _, cause := range causes {
		names := resources[cause]
		if more := len(names) - maxUnseen; more > 1 {
			names = append(names[:maxUnseen:maxUnseen], fmt.Sprintf("and %d more (-o json has all)", more))
		}
		texts = append(texts, strings.Join(names, ", ")+" "+cause)
	}
	return render.Plain("The answer may be incomplete. Not seen: " + strings.Join(texts, "; ") + ".")
}
