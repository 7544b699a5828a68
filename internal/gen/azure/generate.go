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
	{"opening enums", openEnums},
	{"finding references", setReferences},
	{"finding secrets", setSecrets},
	{"flattening properties", flatten},
}

// Generate runs all stages, and returns their result and its catalogue. The error for entries of the
// config that answered nothing names all of them.
func Generate(l *Library, config *Config) (Model, *catalogue.Catalogue, error) {
	m, err := readModel(l, config)
	if err != nil {
		return Model{}, nil, fmt.Errorf("reading schemas: %w", err)
	}
	for _, s := range stages {
		if m, err = s.run(m, config); err != nil {
			return Model{}, nil, fmt.Errorf("%s: %w", s.doing, err)
		}
	}
	if unused := config.unused(); len(unused) > 0 {
		return Model{}, nil, fmt.Errorf("%d entries of the config answer no question, remove them: %s", len(unused),
			strings.Join(unused, ", "))
	}
	c, err := toCatalogue(m)
	return m, c, err
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
