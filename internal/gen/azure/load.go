package azure

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// host is the place that the $ref of schemas name. Below it, the folders are those of the directories.
const host = "schema.management.azure.com/"

// node is a JSON schema, as encoding/json reads it. A node of another JSON type says nothing.
type node map[string]any

func (n node) text(key string) string { s, _ := n[key].(string); return s }

func (n node) node(key string) node { m, _ := n[key].(map[string]any); return m }

func (n node) list(key string) []any { l, _ := n[key].([]any); return l }

// File is a schema file.
type File struct {
	catalogue.Source
	root   *Root
	schema node
}

// Root is a directory with schema files. A $ref leads to a file of the same Root.
type Root struct {
	files fs.FS
	read  map[string]*File
}

// Selection is one resource of a schema file.
type Selection struct {
	// Path of the file, and the key at its top, such as resourceDefinitions.
	Path, Key string
	// Definition is the name of the resource below the key.
	Definition string
}

// Library is the schemas that a catalogue is made from.
type Library struct {
	Roots []*Root
	// Types are the resources to take. Empty takes all.
	Types []Selection

	facts  map[string]Facts // by lower-case type
	extras []*File
}

// Load makes a Library of directories.
func Load(directories []fs.FS) *Library {
	l := &Library{facts: map[string]Facts{}}
	for _, d := range directories {
		l.Roots = append(l.Roots, &Root{files: d, read: map[string]*File{}})
	}
	return l
}

// AddTypes adds the content of a file such as types.json to Types: a list of lists with ARM type, api-version, path
// of the schema file, key at its top, and name below the key.
func (l *Library) AddTypes(text []byte) error {
	var rows [][]string
	if err := json.Unmarshal(text, &rows); err != nil {
		return fmt.Errorf("reading the list of types: %w", err)
	}
	for i, row := range rows {
		if len(row) != 5 {
			return fmt.Errorf("reading the list of types: row %d has %d fields instead of 5", i, len(row))
		}
		l.Types = append(l.Types, Selection{Path: row[2], Key: row[3], Definition: row[4]})
	}
	return nil
}

// open returns a file.
func (r *Root) open(name string) (*File, error) {
	if f, ok := r.read[name]; ok {
		return f, nil
	}
	text, err := fs.ReadFile(r.files, name)
	if err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	f, err := parseFile(name, text)
	if err != nil {
		return nil, err
	}
	f.root = r
	r.read[name] = f
	return f, nil
}

func parseFile(name string, text []byte) (*File, error) {
	var schema node
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("parsing the schema %s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	return &File{Source: catalogue.Source{Path: name, Hash: hex.EncodeToString(sum[:])}, schema: schema}, nil
}

// resolve returns the node that a $ref in f leads to, and its file. id is the same for each $ref to it.
func (f *File) resolve(ref string) (n node, in *File, id string, err error) {
	address, pointer, _ := strings.Cut(ref, "#")
	in = f
	if address != "" {
		_, name, ok := strings.Cut(address, host)
		if !ok {
			return nil, nil, "", fmt.Errorf("the $ref %q leads out of %s", ref, host)
		}
		if in, err = f.root.open(path.Clean(name)); err != nil {
			return nil, nil, "", err
		}
	}
	n = in.schema
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment); segment != "" {
			n = n.node(segment)
		}
	}
	if n == nil {
		return nil, nil, "", fmt.Errorf("the $ref %q in %s leads nowhere", ref, f.Path)
	}
	return n, in, in.Path + "#" + pointer, nil
}

// scopes are the keys at the top of a schema file that hold resources.
var scopes = map[string]catalogue.Scope{
	"resourceDefinitions":                 catalogue.ResourceGroupScope,
	"subscription_resourceDefinitions":    catalogue.SubscriptionScope,
	"managementGroup_resourceDefinitions": catalogue.ManagementGroupScope,
	"tenant_resourceDefinitions":          catalogue.TenantScope,
	"extension_resourceDefinitions":       catalogue.ExtensionScope,
	"unknown_resourceDefinitions":         catalogue.UnknownScope,
}

// selected returns the resources to take, and their files. A resource in defaults is taken where a directory
// has the resource: a default is a file, or a file, "#" and the definition of one resource.
func (l *Library) selected(defaults []string) (files []*File, selections []Selection, err error) {
	if len(l.Types) == 0 {
		return l.everything()
	}
	for _, d := range defaults {
		name, definition, _ := strings.Cut(d, "#")
		f, err := l.find(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		for _, s := range f.resources() {
			if definition == "" || s.Definition == definition {
				files = append(files, f)
				selections = append(selections, s)
			}
		}
	}
	for _, s := range l.Types {
		f, err := l.find(s.Path)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
		selections = append(selections, s)
	}
	return files, selections, nil
}

// resources returns all resources of a file.
func (f *File) resources() []Selection {
	var all []Selection
	for _, key := range slices.Sorted(maps.Keys(scopes)) {
		for _, definition := range slices.Sorted(maps.Keys(f.schema.node(key))) {
			all = append(all, Selection{Path: f.Path, Key: key, Definition: definition})
		}
	}
	return all
}

// find returns the file of the first Root that has it.
func (l *Library) find(name string) (*File, error) {
	for _, r := range l.Roots {
		f, err := r.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return f, err
	}
	return nil, fmt.Errorf("looking for the schema %s: %w", name, fs.ErrNotExist)
}

// everything returns all resources of all files.
func (l *Library) everything() (files []*File, selections []Selection, err error) {
	for _, r := range l.Roots {
		err := fs.WalkDir(r.files, "schemas", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) != ".json" {
				return err
			}
			f, err := r.open(name)
			if err != nil {
				return err
			}
			for _, s := range f.resources() {
				files = append(files, f)
				selections = append(selections, s)
			}
			return nil
		})
		if err != nil {
			return nil, nil, fmt.Errorf("looking for schemas: %w", err)
		}
	}
	return files, selections, nil
}
