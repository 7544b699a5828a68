package clouds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cli/azuremove"
	"github.com/kinship-dev/kinship/internal/cli/command"
	azurecloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/pack/azure"
)

func newAzureRender(streams genericiooptions.IOStreams) *cobra.Command {
	var file, endpoint, subscription string
	var live bool
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Print the requests that the operator would send for manifests",
		Long: `Print method, address and body of the requests that the operator would send to
Azure for the manifests in a file or a folder. Nothing is sent to Azure.

Owners and references are found among the manifests and, with
--with-cluster, in the cluster.`,
		Example: "  kinship azure render -f examples/azure --subscription 11111111-2222-3333-4444-555555555555",
		Args:    cobra.NoArgs,
	}
	c := newAzureCommand(streams, cmd)
	c.flags.AddTo(cmd.Flags())
	f := cmd.Flags()
	f.StringVarP(&file, "filename", "f", "", "file or folder of manifests, or - for standard input")
	f.StringVar(&endpoint, "azure-endpoint", "https://management.azure.com", "address of Azure Resource Manager")
	f.StringVar(&subscription, "subscription", "", "subscription of manifests that name none")
	f.BoolVar(&live, "with-cluster", false, "find owners and references that are in no manifest in the cluster")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, objects, err := c.read(file)
		if err != nil {
			return err
		}
		m := azure.Manifests{Kinds: all, Objects: objects, Subscription: subscription}
		if live {
			if m.Find, err = c.finder(cmd.Context(), all); err != nil {
				return err
			}
		}
		requests, err := m.Render()
		for _, one := range requests {
			body, failed := json.MarshalIndent(one.Body, "", "  ")
			if failed != nil {
				return fmt.Errorf("write the body of %s: %w", one.Object, failed)
			}
			fmt.Fprintf(c.Out, "# %s\n%s %s%s?api-version=%s\n%s\n\n", one.Object, one.Method,
				strings.TrimSuffix(endpoint, "/"), one.ID, one.APIVersion, body)
		}
		return err
	}
	return required(cmd, "filename")
}

// read returns the catalogue, and the objects in a file.
func (c *azureCommand) read(file string) (*catalogue.Catalogue, []*unstructured.Unstructured, error) {
	all, err := c.catalogue()
	if err != nil {
		return nil, nil, err
	}
	objects, err := readBackup(file, c.In)
	return all, objects, err
}

// finder returns a function that reads status.id of objects in the cluster.
func (c *azureCommand) finder(
	ctx context.Context, all *catalogue.Catalogue,
) (func(gk schema.GroupKind, namespace, name string) (string, error), error) {
	cluster, err := c.cluster()
	if err != nil {
		return nil, err
	}
	own, err := c.flags.Namespace()
	if err != nil {
		return nil, err
	}
	return func(gk schema.GroupKind, namespace, name string) (string, error) {
		var last error
		for _, k := range all.ByGroupKind(gk) {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(k.GroupVersionKind())
			if namespace == "" {
				namespace = own
			}
			if last = cluster.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); last == nil {
				id, _, _ := unstructured.NestedString(u.Object, "status", "id")
				return id, nil
			}
		}
		return "", last
	}, nil
}

func newAzureConvert(streams genericiooptions.IOStreams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "convert -f FILE",
		Short: "Convert manifests of Azure Service Operator v2",
		Long: `Convert manifests of Azure Service Operator v2 (API groups *.azure.com) into those of
the azure pack. What can't be converted is told on standard error.`,
		Args: cobra.NoArgs,
	}
	c := newAzureCommand(streams, cmd)
	cmd.Flags().StringVarP(&file, "filename", "f", "", "file or folder of manifests, or - for standard input")
	cmd.RunE = func(*cobra.Command, []string) error {
		all, objects, err := c.read(file)
		if err != nil {
			return err
		}
		var failed []error
		for _, other := range objects {
			ours, left, err := azuremove.Convert(all, other)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s/%s: %w", other.GetKind(), other.GetName(), err))
				continue
			}
			for _, one := range left {
				fmt.Fprintf(c.ErrOut, "%s/%s: left out %s\n", other.GetKind(), other.GetName(), one)
			}
			if err := c.write(ours); err != nil {
				return err
			}
		}
		return errors.Join(failed...)
	}
	return required(cmd, "filename")
}

// write prints an object as YAML.
func (c *azureCommand) write(obj *unstructured.Unstructured) error {
	text, err := json.Marshal(obj.Object)
	if err == nil {
		text, err = yaml.JSONToYAML(notInYAML.ReplaceAllFunc(text, escaped))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", obj.GetName(), err)
	}
	_, err = fmt.Fprintf(c.Out, "%s---\n", text)
	return err
}

// notInYAML are the characters that JSON texts may have, and that a parser of YAML refuses or reads as the end of a
// line.
var notInYAML = regexp.MustCompile(`[\x{7f}-\x{9f}\x{fffe}\x{ffff}]`)

// escaped returns a character of a JSON string as JSON escapes it.
func escaped(character []byte) []byte {
	r, _ := utf8.DecodeRune(character)
	return fmt.Appendf(nil, `\u%04x`, r)
}

// azureImport is the command "kinship azure import".
type azureImport struct {
	*azureCommand

	body, endpoint, credential string
	types                      []string
	keepUnknown                bool
	all                        *catalogue.Catalogue
}

func newAzureImport(streams genericiooptions.IOStreams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import ID",
		Short: "Write manifests for resources that exist in Azure",
		Long: `Write manifests for a resource that exists in Azure, and for its children. The
objects are unmanaged: the operator only reads their resources until
spec.managementPolicy is managed.

What Azure alone writes, such as provisioningState, is left out. What the schema
doesn't know is left out too, and told on standard error; --keep-unknown keeps
it in spec.raw. Azure returns no secrets: name a Secret in their fields.

With --body, the resource is read from a file, and nothing is asked of Azure.`,
		Example: `  kinship azure import /subscriptions/S/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net
  kinship azure import --types 'Microsoft.Network/*' /subscriptions/S/resourceGroups/rg
  kinship azure import --body rg.json /subscriptions/S/resourceGroups/rg`,
		Args: cobra.ExactArgs(1),
	}
	c := azureImport{azureCommand: newAzureCommand(streams, cmd)}
	f := cmd.Flags()
	f.StringVar(&c.body, "body", "", "file with the JSON body of the resource, or - for standard input")
	f.StringVar(&c.endpoint, "azure-endpoint", "",
		"address of Azure Resource Manager (default https://management.azure.com)")
	f.StringVar(&c.credential, "azure-credential", azurecloud.DefaultCredential, "default or none")
	f.StringSliceVar(&c.types, "types", nil,
		"for a resource group, patterns of the types of resources in it to import too")
	f.BoolVar(&c.keepUnknown, "keep-unknown", false, "keep in spec.raw what the schema doesn't know")
	cmd.RunE = func(cmd *cobra.Command, arguments []string) error { return c.run(cmd.Context(), arguments[0]) }
	return cmd
}

func (c *azureImport) run(ctx context.Context, text string) error {
	id, err := azurecloud.ParseID(text)
	if err != nil {
		return command.Misused(err)
	}
	if c.all, err = c.catalogue(); err != nil {
		return err
	}
	k := c.all.Default(id.Type())
	if k == nil {
		return command.Misused(fmt.Errorf("the catalogue has no type %s", id.Type()))
	}
	for _, pattern := range c.types {
		if _, err := c.all.Match(pattern); err != nil {
			return command.Misused(err)
		}
	}
	if c.body != "" {
		return c.fromFile(k, id)
	}
	credential, err := azurecloud.NewCredential(c.credential, azurecloud.Login{})
	if err != nil {
		return err
	}
	cloud, err := azurecloud.NewClient(azurecloud.Options{Endpoint: c.endpoint, Credential: credential})
	if err != nil {
		return err
	}
	return azuremove.Importer{
		Kinds: c.all, Cloud: cloud, Types: c.types, KeepUnknown: c.keepUnknown, Write: c.write, Tell: c.tell,
	}.Import(ctx, id)
}

func (c *azureImport) tell(format string, arguments ...any) {
	fmt.Fprintf(c.ErrOut, format+"\n", arguments...)
}

// fromFile imports the resource of --body.
func (c *azureImport) fromFile(k *catalogue.Kind, id azurecloud.ID) error {
	read := func() ([]byte, error) { return os.ReadFile(c.body) }
	if c.body == "-" {
		read = func() ([]byte, error) { return io.ReadAll(c.In) }
	}
	text, err := read()
	if err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	var body map[string]any
	if err := utiljson.Unmarshal(text, &body); err != nil {
		return fmt.Errorf("read the body in %s: %w", c.body, err)
	}
	obj, left, err := azuremove.Import(k, id, body, c.keepUnknown)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		c.tell("%s: left out %s", id, strings.Join(left, ", "))
	}
	return c.write(obj)
}
