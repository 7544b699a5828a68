package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// crds is the command that writes CustomResourceDefinitions.
func crds() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "crds DIR PATTERN...", Short: "Write the CustomResourceDefinitions of types", Args: cobra.MinimumNArgs(2),
		Example: "  armgen crds out 'Microsoft.Network/virtualNetworks*' Microsoft.Resources/resourceGroups@2018-05-01",
		RunE: func(_ *cobra.Command, arguments []string) error {
			c, err := openCatalogue(file)
			if err != nil {
				return err
			}
			for _, pattern := range arguments[1:] {
				kinds, err := c.Match(pattern)
				if err != nil {
					return err
				}
				if len(kinds) == 0 {
					return fmt.Errorf("the catalogue has no type that matches %s", pattern)
				}
				for _, k := range kinds {
					if err := writeCRD(c, k, arguments[0]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "catalogue", "", "file of armgen catalogue, instead of the built-in one")
	return cmd
}

// openCatalogue reads a file, or the built-in catalogue.
func openCatalogue(file string) (*catalogue.Catalogue, error) {
	if file == "" {
		return catalogue.Embedded()
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return catalogue.Open(data)
}

// writeCRD writes GROUP_PLURAL.yaml, the name that controller-gen gives such files.
func writeCRD(c *catalogue.Catalogue, k *catalogue.Kind, directory string) error {
	crd, err := catalogue.CRD(c, []*catalogue.Kind{k})
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("writing the definition of %s: %w", k.Type, err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(directory, k.Group+"_"+k.Plural+".yaml"), text, 0o644)
}
