package answers

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/pack/usage"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/render"
)

// NewWhoUses returns the command "kinship who-uses".
func NewWhoUses(streams genericiooptions.IOStreams) *cobra.Command {
	q := newQuestion(streams, "table", "json", "name")
	q.answer = func(ctx context.Context, cluster *lineage.Cluster, node *lineage.Node) error {
		users, err := cluster.Users(ctx, node)
		if err != nil {
			return err
		}
		if err := q.writeUsers(users); err != nil {
			return err
		}
		q.writeLock(users)
		q.hint(node, users)
		q.warn(users.Skipped)
		return nil
	}
	return q.command(&cobra.Command{
		Use:   "who-uses",
		Short: "Show who uses an object, and whether that protects it",
		Long: `Show each object that uses another one: by which Usage, and whether the Usage is
in force; or by which field of its own, and whether that keeps what it names. For
a namespace or the definition of a kind, show what protected objects it holds.

The exit code is 0 whether or not anything uses the object.`,
		Example: `  kinship who-uses cluster.eks.upbound.io/my-cluster
  kinship who-uses namespace prod`,
	})
}

// hint prints usage.OverrideCommand() to IOStreams.ErrOut for a Namespace or a
// CustomResourceDefinition that holds protected objects.
func (q *question) hint(node *lineage.Node, users *lineage.Users) {
	held := slices.ContainsFunc(users.Users, func(u lineage.User) bool { return u.InForce && u.Content != "" })
	if q.output != "table" || !held {
		return
	}
	fmt.Fprintf(q.ErrOut, "To delete it all the same, with the verb override on all Usages: %s, and delete it.\n",
		usage.OverrideCommand(node.ID, string(node.UID)))
}

// writeLock prints Users.Locked and Users.Deletion, if the user may not list all Usages.
func (q *question) writeLock(users *lineage.Users) {
	if q.output != "table" || users.Locked == "" {
		return
	}
	text := "that was not tried: " + users.Deletion.Text
	switch users.Deletion.Outcome {
	case lineage.Refused:
		text = "it is, now: " + users.Deletion.Text
	case lineage.Allowed:
		text = "but the API server would delete it now"
	case lineage.Untried:
	}
	fmt.Fprintf(q.Out, "Label %s says that its deletion is refused; %s\n", users.Locked, render.Plain(text))
}

func (q *question) writeUsers(users *lineage.Users) error {
	switch {
	case q.output == "json":
		return render.JSON(q.Out, struct {
			Schema string `json:"schema"`
			*lineage.Users
		}{"kinship.dev/who-uses/v1alpha1", users})
	case q.output == "name":
		for _, name := range userNames(users) {
			fmt.Fprintln(q.Out, name)
		}
		return nil
	case len(users.Users) == 0 && len(users.Skipped) > 0:
		fmt.Fprintf(q.Out, "Nothing that could be seen uses %s.\n", users.Object)
		return nil
	case len(users.Users) == 0:
		fmt.Fprintf(q.Out, "Nothing uses %s.\n", users.Object)
		return nil
	}
	rows := make([][]string, 0, len(users.Users))
	for _, u := range users.Users {
		rows = append(rows, userRow(u, users.Object.Namespace))
	}
	return render.Table(q.Out, []string{"USED BY", "DECLARED BY", "FIELD", "IN FORCE", "NOTE"}, rows)
}

// userNames returns resourceName() of each User.Object, each once.
func userNames(users *lineage.Users) []string {
	var names []string
	for _, u := range users.Users {
		if u.Object == nil {
			continue
		}
		if name := resourceName(*u.Object); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func userRow(u lineage.User, namespace string) []string {
	who, force, note := "-", "no", u.Why
	switch {
	case u.Object != nil:
		who = label(*u.Object, namespace)
	case u.Selector != "":
		who = u.Selector
	}
	if u.InForce {
		force = "yes"
	}
	if u.InForce && u.Finalizer != "" {
		note = "by finalizer " + u.Finalizer
	}
	if u.Made > 0 {
		note = fmt.Sprintf("and %d more that it created", u.Made) + separated(note)
	}
	if u.Reason != "" {
		note = fmt.Sprintf("%q", u.Reason) + separated(note)
	}
	if u.Content != "" {
		note = "holds " + u.Content + separated(note)
	}
	return []string{who, label(u.Declarer, namespace), u.Field, force, note}
}

func separated(note string) string {
	if note == "" {
		return ""
	}
	return "; " + note
}
