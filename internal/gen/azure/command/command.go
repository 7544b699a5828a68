// Package command is the command line of armgen, which makes a catalogue of Azure's resource types from ARM deployment
// schemas: [New] returns the commands.
package command

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
)

// input is the flags of all commands.
type input struct {
	schemas, types, facts, extras, configs []string
	strict                                 bool
}

// New returns the command armgen.
func New() *cobra.Command {
	root := &cobra.Command{
		Use: "armgen", SilenceUsage: true,
		Short: "Make a catalogue of Azure's resource types from ARM deployment schemas",
	}
	var in input
	flags := root.PersistentFlags()
	flags.StringArrayVar(&in.schemas, "schemas", nil,
		"directory with the folders of schema.management.azure.com, such as schemas/2020-03-01 (may be repeated)")
	flags.StringArrayVar(&in.types, "types", nil,
		"JSON file with the resources to take: a list of [type, api-version, file, key, definition] (may be repeated)")
	flags.StringArrayVar(&in.facts, "facts", nil,
		"file with a JSON object a line: what the schemas don't say of a type, such as its secrets (may be repeated)")
	flags.StringArrayVar(&in.extras, "extra", nil,
		"YAML file with types that the schemas lack: type, apiVersion, scopes, schema, and facts (may be repeated)")
	flags.StringArrayVar(&in.configs, "config", nil, "YAML file with answers, beside the built-in ones (may be repeated)")
	flags.BoolVar(&in.strict, "strict", false, "fail if a built-in answer isn't in use")
	root.AddCommand(in.catalogue(), in.explain(), in.stats(), crds())
	return root
}

// explain is the command that shows the relationships of a type.
func (in *input) explain() *cobra.Command {
	return &cobra.Command{
		Use: "explain TYPE", Short: "Show the relationships of a type", Args: cobra.ExactArgs(1),
		Example: "  armgen explain Microsoft.Network/virtualNetworks/subnets --schemas DIR",
		RunE: func(cmd *cobra.Command, types []string) error {
			_, c, err := in.generate()
			if err != nil {
				return err
			}
			return azure.Explain(cmd.OutOrStdout(), c, types[0])
		},
	}
}

// stats is the command that counts relationships.
func (in *input) stats() *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Count owners and references", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, _, err := in.generate()
			if err != nil {
				return err
			}
			azure.Stats(cmd.OutOrStdout(), m)
			return nil
		},
	}
}

// generate runs the generator on the flags' files.
func (in *input) generate() (azure.Model, *catalogue.Catalogue, error) {
	l, config, err := in.load()
	if err != nil {
		return azure.Model{}, nil, err
	}
	return azure.Generate(l, config)
}

// load reads the flags' files.
func (in *input) load() (*azure.Library, *azure.Config, error) {
	directories := make([]fs.FS, 0, len(in.schemas))
	for _, d := range in.schemas {
		directories = append(directories, os.DirFS(d))
	}
	config, err := azure.DefaultConfig(in.strict)
	if err != nil {
		return nil, nil, err
	}
	err = eachFile(in.configs, func(_ string, text []byte) error {
		more, err := azure.ParseConfig(text)
		if err == nil {
			config.Add(more)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	l := azure.Load(directories)
	plain := func(add func(text []byte) error) func(string, []byte) error {
		return func(_ string, text []byte) error { return add(text) }
	}
	return l, config, cmp.Or(eachFile(in.types, plain(l.AddTypes)), eachFile(in.facts, plain(l.AddFacts)),
		eachFile(in.extras, l.AddExtra))
}

// eachFile calls read with the base name and the content of each file.
func eachFile(files []string, read func(name string, text []byte) error) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := read(filepath.Base(file), text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
