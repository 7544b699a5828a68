package lineage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/pkg/object"
)

// ErrName says that an object was not named in a way that makes sense, before
// anything was looked up.
var ErrName = errors.New("name an object as KIND/NAME or KIND NAME")

// NotFoundError says that what was asked about does not exist.
type NotFoundError struct {
	// Kind is what was asked for; ID is empty if the cluster serves no such kind.
	Kind string
	ID   object.ID
}

// Error implements error.
func (e *NotFoundError) Error() string {
	if e.ID.IsZero() {
		return fmt.Sprintf("the cluster serves no kind %q", e.Kind)
	}
	return e.ID.String() + " does not exist"
}

// SplitName reads how a person names an object: "KIND/NAME" or "KIND", "NAME".
func SplitName(args []string) (kindName, name string, err error) {
	switch len(args) {
	case 1:
		kindName, name, _ = strings.Cut(args[0], "/")
	case 2:
		kindName, name = args[0], args[1]
	}
	if kindName == "" || name == "" || strings.Contains(kindName+name, "/") {
		return "", "", fmt.Errorf("%w, not %q", ErrName, strings.Join(args, " "))
	}
	return kindName, name, nil
}

// Find returns the object that a person names. The kind may be a plural, a
// singular, a kind or a short name, with ".group" or ".version.group" if need be.
// Where several groups have such a kind, the one that has the object is meant; if
// several have, that is an error which names them.
func (c *Cluster) Find(ctx context.Context, kindName, name, namespace string) (*Node, error) {
	kinds := c.catalog.lookup(kindName)
	if len(kinds) == 0 {
		return nil, &NotFoundError{Kind: kindName}
	}
	var found, denied, absent []*Node
	for _, k := range kinds {
		id := object.ID{Group: k.Resource.Group, Kind: k.Kind, Name: name}
		if k.Namespaced {
			id.Namespace = namespace
		}
		n := c.node(id)
		if err := c.read(ctx, k, n); err != nil {
			return nil, err
		}
		switch {
		case n.full != nil && (len(found) == 0 || found[0].UID != n.UID):
			found = append(found, n)
		case n.full == nil && n.Status != NotFound:
			denied = append(denied, n)
		default:
			absent = append(absent, n)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%q is ambiguous: there are %s; give the group, as in %s.%s/%s",
			kindName+"/"+name, names(found), kindName, found[0].ID.Group, name)
	case len(denied) > 0:
		return nil, fmt.Errorf("read %s: %s", denied[0].ID, denied[0].Message)
	}
	return nil, &NotFoundError{ID: absent[0].ID}
}

func names(nodes []*Node) string {
	texts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		texts = append(texts, n.ID.String())
	}
	return strings.Join(texts, " and ")
}
