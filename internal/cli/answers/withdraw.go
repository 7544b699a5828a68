package answers

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/usage"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// NewWithdraw returns the command "kinship withdraw".
func NewWithdraw(streams genericiooptions.IOStreams) *cobra.Command {
	q := newQuestion(streams, "text")
	q.answer = q.withdraw
	return q.command(&cobra.Command{
		Use:   "withdraw",
		Short: "Withdraw refused deletions of an object that would be carried out later",
		Long: `Withdraw the deletions of an object that were refused and are on record to be carried
out as soon as nothing is in the way (spec.replayDeletion of a Usage).

Everybody may withdraw what he asked for himself, and with the verb override on
the Usage also what others asked for. Needed are the verbs list on Usages and
patch on their status; a status can't be changed in any other way.`,
		Example: `  kinship withdraw cluster.eks.upbound.io/my-cluster
  kinship withdraw ConfigMap settings -n prod`,
	})
}

func (q *question) withdraw(ctx context.Context, _ *lineage.Cluster, node *lineage.Node) error {
	config, err := q.flags.Config()
	if err != nil {
		return err
	}
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		return err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	withdrawn, err := usage.Withdraw(ctx, c, node.ID, node.UID)
	for _, w := range withdrawn {
		fmt.Fprintf(q.Out, "Withdrew the deletion of %s that %s asked for at %s (%s).\n",
			node.ID.Short(), w.User, w.Time.UTC().Format(time.RFC3339), w.Usage)
	}
	if err == nil && len(withdrawn) == 0 {
		return fmt.Errorf("no deletion of %s is on record, as far as you may list Usages", node.ID)
	}
	return err
}
