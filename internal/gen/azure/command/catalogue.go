package command

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
)

// catalogue is the command that writes the catalogue, and where asked for the typed packages.
func (in *input) catalogue() *cobra.Command {
	var output, packages, manifest string
	cmd := &cobra.Command{
		Use: "catalogue", Short: "Write the catalogue", Args: cobra.NoArgs,
		Example: "  armgen catalogue --schemas DIR -o FILE",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, c, err := in.generate()
			if err != nil {
				return err
			}
			for _, r := range c.Refusals() {
				fmt.Fprintf(cmd.ErrOrStderr(), "refused %s in %s: %s\n", r.Type, r.APIVersion, r.Reason)
			}
			for _, r := range m.Resources {
				for _, path := range r.Lacking {
					fmt.Fprintf(cmd.ErrOrStderr(), "the schema of %s in %s has no %s, which the facts call a secret\n",
						r.Type, r.APIVersion, path)
				}
			}
			data, err := encode(c)
			if err != nil {
				return err
			}
			if err := os.WriteFile(output, data, 0o644); err != nil {
				return err
			}
			if packages == "" {
				return nil
			}
			files, err := writePackages(m, packages)
			if err != nil {
				return err
			}
			text, err := azure.NewManifest(c, data, files)
			if err != nil {
				return err
			}
			return os.WriteFile(manifest, text, 0o644)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "arm.catalogue", "file to write")
	flags.StringVar(&packages, "packages", "", "directory for the typed Go packages of the default types")
	flags.StringVar(&manifest, "manifest", "manifest.json", "file for the hashes, with --packages")
	return cmd
}

// encode returns the file of a catalogue, which it reads back.
func encode(c *catalogue.Catalogue) ([]byte, error) {
	data, err := c.Encode()
	if err != nil {
		return nil, err
	}
	written, err := catalogue.Open(data)
	if err != nil {
		return nil, err
	}
	return data, written.Verify()
}

// writePackages writes the typed packages, and returns their files by name.
func writePackages(m azure.Model, directory string) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, p := range azure.GoPackages(m) {
		sources, err := p.Render()
		if err != nil {
			return nil, fmt.Errorf("writing the package %s: %w", p.Folder, err)
		}
		for _, s := range sources {
			files[path.Join(p.Folder, s.Name)] = s.Text
		}
	}
	for name, text := range files {
		file := filepath.Join(directory, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return nil, err
		}
	}
	return files, nil
}
