package azure

import (
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
)

// stage changes a Model.
type stage struct {
	doing string
	run   func(Model, *Config) (Model, error)
}

var stages = []stage{
	{"finding owners", setOwners},
	{"naming kinds", setNames},
	{"separating children", separateChildren},
	{"finding references", setReferences},
	{"flattening properties", flatten},
}

// Build runs all stages. The error for entries of the config that answered nothing names all of them.
func Build(l *Library, config *Config) (Model, error) {
	m, err := readModel(l, config)
	if err != nil {
		return Model{}, fmt.Errorf("reading schemas: %w", err)
	}
	for _, s := range stages {
		if m, err = s.run(m, config); err != nil {
			return Model{}, fmt.Errorf("%s: %w", s.doing, err)
		}
	}
	if unused := config.unused(); len(unused) > 0 {
		return Model{}, fmt.Errorf("%d entries of the config answer no question, remove them: %s", len(unused),
			strings.Join(unused, ", "))
	}
	return m, nil
}

// Generate returns the catalogue of the schemas.
func Generate(l *Library, config *Config) (*catalogue.Catalogue, error) {
	m, err := Build(l, config)
	if err != nil {
		return nil, err
	}
	return toCatalogue(m)
}

// Counts tell what the stages found.
type Counts struct {
	// OwnersFound by type and scope, and OwnersConfigured.
	OwnersFound, OwnersConfigured int
	// ChildrenPreserved are the collections of children in bodies.
	ChildrenPreserved int
	// ByKind, ByPart and ByIDOnly are the places of references: to known kinds, to parts of resources, and
	// to any resource.
	ByKind, ByPart, ByIDOnly int
}

func (c *Counts) count(found []catalogue.Target) {
	switch {
	case len(found) == 0:
		c.ByIDOnly++
	case found[0].Part != "":
		c.ByPart++
	default:
		c.ByKind++
	}
}
