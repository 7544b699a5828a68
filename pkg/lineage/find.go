package lineage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

// ErrName reports arguments that do not name an object.
var ErrName = errors.New("name an object as KIND/NAME or KIND NAME")

// NotFoundError reports that the object of a question does not exist.
type NotFoundError struct {
	// Kind is the given kind. ID is zero if the cluster serves no such kind.
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

// SplitName splits the name of an object: "KIND/NAME", or "KIND" and "NAME".
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

// Find returns the object with a name. The kind is a plural, a singular, a kind or a
// short name, with ".group" or ".version.group" if needed. If several API groups have
// such a kind, Find returns the only object with the name, or an error that names all.
func (c *Cluster) Find(ctx context.Context, kindName, name, namespace string) (*Node, error) {
	kinds := c.catalog.lookup(kindName)
	if len(kinds) == 0 {
		return nil, &NotFoundError{Kind: kindName}
	}
	var found, unread, absent []*Node
	for _, k := range kinds {
		id := object.ID{Group: k.Resource.Group, Kind: k.Kind, Name: name}
		if k.Namespaced {
			id.Namespace = namespace
		}
		n := c.node(id)
		c.readOne(ctx, k, n, false)
		switch {
		case n.full != nil && (len(found) == 0 || found[0].UID != n.UID):
			found = append(found, n)
		case n.full == nil && n.Status != NotFound:
			unread = append(unread, n)
		default:
			absent = append(absent, n)
		}
	}
	if err := contextError(ctx, object.ID{Kind: kindName, Name: name}); err != nil {
		return nil, err
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		names := lists.Map(found, func(n *Node) string { return n.ID.String() })
		return nil, fmt.Errorf("%q is ambiguous: there are %s; give the group, as in %s.%s/%s",
			kindName+"/"+name, strings.Join(names, " and "), kindName, found[0].ID.Group, name)
	case len(unread) > 0:
		return nil, fmt.Errorf("read %s: %s", unread[0].ID, unread[0].Message)
	}
	return nil, &NotFoundError{ID: absent[0].ID}
}
