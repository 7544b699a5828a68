package clouds

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cli/command"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/pkg/render"
)

// azureCommand holds the flags that the commands "kinship azure" have in common.
type azureCommand struct {
	genericiooptions.IOStreams

	flags *command.KubeFlags
	// file is the file of the catalogue.
	file string
	// namespaces are where the operator gets rights; empty means everywhere.
	namespaces []string
}

// NewAzure returns the command "kinship azure".
func NewAzure(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Choose and explain the kinds of Azure resources",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newAzureEnable(streams), newAzureDisable(streams), newAzureKinds(streams), newAzureExplain(streams),
		newAzureRender(streams), newAzureImport(streams), newAzureConvert(streams))
	return cmd
}

func newAzureCommand(streams genericiooptions.IOStreams, cmd *cobra.Command) *azureCommand {
	c := &azureCommand{IOStreams: streams, flags: command.NewKubeFlags()}
	cmd.Flags().StringVar(&c.file, "azure-catalogue", "", "file of armgen with the kinds (default the embedded one)")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return command.Misused(err) })
	return c
}

// catalogue returns the kinds that there are.
func (c *azureCommand) catalogue() (*catalogue.Catalogue, error) {
	return ReadCatalogue(c.file)
}

// match returns the kinds of patterns. A pattern without a kind is an error.
func (c *azureCommand) match(patterns []string) (*catalogue.Catalogue, []*catalogue.Kind, error) {
	all, err := c.catalogue()
	if err != nil {
		return nil, nil, err
	}
	var kinds []*catalogue.Kind
	for _, pattern := range patterns {
		found, err := all.Match(pattern)
		if err != nil {
			return nil, nil, command.Misused(err)
		}
		if len(found) == 0 {
			return nil, nil, command.Misused(fmt.Errorf("no type of Azure matches %q: kinship azure kinds lists them", pattern))
		}
		for _, k := range found {
			if !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
	}
	return all, kinds, nil
}

// cluster returns a client of the cluster.
func (c *azureCommand) cluster() (client.Client, error) {
	config, err := c.flags.Config()
	if err != nil {
		return nil, err
	}
	return install.NewAzureClient(config)
}

func newAzureEnable(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "enable PATTERN...",
		Short: "Install kinds of Azure resources",
		Long: `Install the definitions of kinds of Azure resources, and give the operator the
rights to them. A running operator serves them at once. Bindings that somebody
changed are repaired. With --namespaces, the rights in all namespaces end.

A pattern is an ARM type in which * stands for any text. @ names another
api-version than the default one.`,
		Example: `  kinship azure enable Microsoft.Resources/resourceGroups 'Microsoft.Network/virtualNetworks*'
  kinship azure enable Microsoft.Network/routeTables@2020-03-01`,
		Args: cobra.MinimumNArgs(1),
	}
	c := newAzureCommand(streams, cmd)
	c.flags.AddTo(cmd.Flags())
	cmd.Flags().StringSliceVar(&c.namespaces, "namespaces", nil,
		"namespaces in which the operator gets the rights, as with kinship operator --namespaces (default all)")
	cmd.RunE = func(cmd *cobra.Command, patterns []string) error { return c.enable(cmd.Context(), patterns) }
	return cmd
}

func (c *azureCommand) enable(ctx context.Context, patterns []string) error {
	all, kinds, err := c.match(patterns)
	if err != nil {
		return err
	}
	cluster, err := c.cluster()
	if err != nil {
		return err
	}
	if err := install.CheckAzureNamespaces(ctx, cluster, c.namespaces); err != nil {
		return err
	}
	grant := install.AzureGrant(c.namespaces...)
	grant.Narrowed = func() {
		fmt.Fprintf(c.Out, "deleted ClusterRoleBinding %[1]s: "+
			"the operator keeps the rights in namespaces with a RoleBinding %[1]s\n",
			azure.RoleName)
	}
	if err := azure.Enable(ctx, cluster, all, kinds, grant); err != nil {
		return err
	}
	for _, k := range kinds {
		fmt.Fprintf(c.Out, "enabled %s.%s in %s\n", k.Plural, k.Group, k.Version)
	}
	runs, err := install.RunsPack(ctx, cluster, "azure")
	if err == nil && !runs {
		fmt.Fprintln(c.ErrOut, "No operator runs the pack azure, so nothing happens to objects of these kinds: "+
			"set packs.azure.enabled=true in the chart, or run the operator with --packs azure")
	}
	return err
}

func newAzureDisable(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disable PATTERN...",
		Short: "Remove kinds of Azure resources that have no objects",
		Args:  cobra.MinimumNArgs(1),
	}
	c := newAzureCommand(streams, cmd)
	c.flags.AddTo(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, patterns []string) error {
		_, kinds, err := c.match(patterns)
		if err != nil {
			return err
		}
		cluster, err := c.cluster()
		if err != nil {
			return err
		}
		if err := azure.Disable(cmd.Context(), cluster, kinds); err != nil {
			return err
		}
		for _, k := range kinds {
			fmt.Fprintf(c.Out, "disabled %s.%s\n", k.Plural, k.Group)
		}
		return nil
	}
	return cmd
}

func newAzureKinds(streams genericiooptions.IOStreams) *cobra.Command {
	outputs := []string{"table", "name", "markdown"}
	output := outputs[0]
	cmd := &cobra.Command{
		Use:   "kinds [PATTERN...]",
		Short: "List the kinds of Azure resources that can be enabled",
	}
	c := newAzureCommand(streams, cmd)
	cmd.Flags().StringVarP(&output, "output", "o", output, "one of "+strings.Join(outputs, ", "))
	cmd.RunE = func(_ *cobra.Command, patterns []string) error {
		if len(patterns) == 0 {
			patterns = []string{"*"}
		}
		all, kinds, err := c.match(patterns)
		if err != nil {
			return err
		}
		switch output {
		case "markdown":
			return kindsPage(c.Out, all, kinds)
		case "table":
			rows := make([][]string, 0, len(kinds))
			for _, k := range kinds {
				rows = append(rows, []string{k.Kind, k.Group, k.Version, k.Type, k.Owner})
			}
			return render.Table(c.Out, []string{"KIND", "GROUP", "VERSION", "TYPE", "OWNER"}, rows)
		case "name":
			for _, k := range kinds {
				fmt.Fprintln(c.Out, k.Plural+"."+k.Group)
			}
			return nil
		default:
			return command.Misused(fmt.Errorf("--output is one of %s", strings.Join(outputs, ", ")))
		}
	}
	return cmd
}

// kindsPage prints kinds with owners and references as a page of Markdown.
func kindsPage(w io.Writer, all *catalogue.Catalogue, kinds []*catalogue.Kind) error {
	fmt.Fprintf(w, "# Kinds of the azure pack\n\nGenerated by `make generate` from the catalogue: %d kinds. "+
		"A kind of the group `x.infra.azure.com` has a type of the provider `x`.\n", len(kinds))
	group := ""
	for _, k := range kinds {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(w, "\n## %s\n\n| kind | version | type in Azure | owner | references |\n|---|---|---|---|---|\n", group)
		}
		fields, err := k.ReferenceFields()
		if err != nil {
			return err
		}
		references := make([]string, 0, len(fields))
		for _, f := range fields {
			references = append(references, fmt.Sprintf("`%s`: %s", f.Path, targets(all, f.Targets)))
		}
		fmt.Fprintf(w, "| %s | %s | `%s` | %s | %s |\n", k.Kind, k.Version, k.Type, ownerOf(all, k),
			strings.Join(references, "<br>"))
	}
	return nil
}

// ownerOf names the owner of a kind, or the scopes of a kind without one.
func ownerOf(all *catalogue.Catalogue, k *catalogue.Kind) string {
	if owner := all.Default(k.Owner); owner != nil {
		if k.Extends() {
			return owner.Kind + " or any resource"
		}
		return owner.Kind
	}
	return cmp.Or(k.Owner, k.Scopes.String())
}

func newAzureExplain(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "explain KIND",
		Short:   "Explain the owner and the references of a kind of Azure resources",
		Example: "  kinship azure explain NetworkInterface\n  kinship azure explain Microsoft.Network/networkInterfaces",
		Args:    cobra.ExactArgs(1),
	}
	c := newAzureCommand(streams, cmd)
	cmd.RunE = func(_ *cobra.Command, arguments []string) error {
		all, err := c.catalogue()
		if err != nil {
			return err
		}
		named := namedKinds(all, arguments[0])
		if len(named) == 0 {
			return command.Misused(fmt.Errorf("no kind %q: kinship azure kinds lists them", arguments[0]))
		}
		for _, k := range named {
			if err := explainKind(c.Out, all, k); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// namedKinds returns the default kinds that a text names: by ARM type, by kind, by plural, or by plural and
// group.
func namedKinds(all *catalogue.Catalogue, text string) (kinds []*catalogue.Kind) {
	lower := strings.ToLower(text)
	for _, k := range all.Kinds() {
		names := []string{strings.ToLower(k.Type), strings.ToLower(k.Kind), k.Plural, k.Plural + "." + k.Group}
		if all.Default(k.Type) == k && slices.Contains(names, lower) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// explainKind prints what is known of a kind.
func explainKind(w io.Writer, all *catalogue.Catalogue, k *catalogue.Kind) error {
	definition, err := k.Definition()
	if err != nil {
		return err
	}
	fields, err := k.ReferenceFields()
	if err != nil {
		return err
	}
	var versions []string
	for _, v := range all.Versions(k.Type) {
		versions = append(versions, v.APIVersion)
	}
	owner := k.Owner
	if known := all.Default(k.Owner); known != nil {
		owner = known.Kind + " (" + k.Owner + ")"
	}
	switch {
	case k.Extends():
		owner = strings.TrimPrefix(owner+", or any resource, with group and kind", ", or ")
	case owner == "":
		owner = "none, or a scope: " + k.Scopes.String()
	}
	fmt.Fprintf(w, "%s of %s\n  type: %s\n  enable: kinship azure enable %s\n  api-version: %s (of %s)\n"+
		"  owner, spec.%s: %s\n", k.Kind, k.Group, k.Type, k.Type, k.APIVersion, strings.Join(versions, ", "),
		catalogue.OwnerField, owner)
	for _, f := range fields {
		fmt.Fprintf(w, "  reference %s: %s\n", f.Path, targets(all, f.Targets))
	}
	for _, field := range k.SecretFields {
		fmt.Fprintf(w, "  secret %s: name and key of a Secret\n", field)
	}
	for _, p := range definition.Preserved {
		fmt.Fprintf(w, "  kept on update: %s, objects of %s\n", p.Path, p.Type)
	}
	return nil
}

// targets names what a reference may lead to.
func targets(all *catalogue.Catalogue, targets []catalogue.Target) string {
	if len(targets) == 0 {
		return "any kind, with group and kind"
	}
	names := make([]string, 0, len(targets))
	for _, t := range targets {
		name := t.Type
		if k := all.Default(t.Type); k != nil {
			name = k.Kind
		}
		if t.Part != "" {
			name += ", path " + t.Part + "/NAME"
		}
		names = append(names, name)
	}
	return strings.Join(names, " or ")
}

// ReadCatalogue reads the file of --azure-catalogue. Without a file, ReadCatalogue returns the embedded catalogue.
func ReadCatalogue(file string) (*catalogue.Catalogue, error) {
	if file == "" {
		return catalogue.Embedded()
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --azure-catalogue: %w", err)
	}
	all, err := catalogue.Open(data)
	if err != nil {
		return nil, fmt.Errorf("--azure-catalogue %s: %w", file, err)
	}
	return all, nil
}
