package lineage

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// User is one object that uses another, or one protection of it.
type User struct {
	// Object uses the one asked about. It is nil if that is protected for its own
	// sake, or if no object matches Selector now.
	Object *object.ID `json:"object,omitempty"`
	// Selector is set if users are found by one: who matches it may change.
	Selector string `json:"selector,omitempty"`
	// Role, Declarer and Field tell which object says so, and where.
	Role     relation.Role `json:"role"`
	Declarer object.ID     `json:"declarer"`
	Field    string        `json:"field"`
	// Reason is what the declarer gave as one.
	Reason string `json:"reason,omitempty"`
	// Content is what is really protected, if the object asked about only holds
	// it: a namespace, or the definition of a kind.
	Content string `json:"content,omitempty"`
	// Finalizer is what keeps the object asked about while one that depends on it
	// names it: its deletion is accepted, and waits.
	Finalizer string `json:"finalizer,omitempty"`
	// Made is how many objects that Object made use the one asked about by the same reference,
	// such as the Pods of a Deployment. They are no rows of their own.
	Made int `json:"made,omitempty"`
	Force
}

// Users is who uses an object.
type Users struct {
	Object object.ID `json:"object"`
	Users  []User    `json:"users"`
	// Locked is the label on the object that says that its deletion is refused. It is set
	// where the objects behind the label could not all be listed.
	Locked string `json:"locked,omitempty"`
	// Deletion is what the API server answers to the deletion now, if it was tried.
	Deletion *Trial    `json:"deletion,omitempty"`
	Skipped  []Skipped `json:"skipped,omitempty"`
}

// Users returns who uses an object that [Cluster.Find] found, in order. What it is
// a part of is no user.
func (c *Cluster) Users(ctx context.Context, n *Node) (*Users, error) {
	if err := c.declare(ctx, n.ID.Namespace); err != nil {
		return nil, err
	}
	answer := &Users{Object: n.ID, Users: []User{}}
	if err := c.refer(ctx, n); err != nil {
		return nil, err
	}
	edges, made := c.withoutMade(c.index.Targeting(n.object()))
	for _, e := range edges {
		if e.Role == relation.Composition {
			continue // Who has made it makes it again. The tree shows that.
		}
		users, err := c.usersBy(ctx, n, e, made[e.Source.ID])
		if err != nil {
			return nil, err
		}
		answer.Users = append(answer.Users, users...)
	}
	for _, l := range c.locks(n) {
		if len(c.hidden(l)) == 0 {
			continue
		}
		answer.Locked = l.Label
		if _, err := c.try(ctx, n); err != nil {
			return nil, err
		}
	}
	if trial, tried := c.trials[n]; tried {
		answer.Deletion = &trial
	}
	answer.Skipped = c.Skipped()
	return answer, nil
}

// usersBy returns the users that one edge stands for: one, or as many as its
// selector finds.
func (c *Cluster) usersBy(ctx context.Context, n *Node, e relation.Edge, made int) ([]User, error) {
	user := User{
		Role: e.Role, Declarer: e.Declarer, Field: e.Field,
		Reason: c.reason(e.Declarer), Made: made,
	}
	var err error
	if user.Force, err = c.force(ctx, e, n); err != nil {
		return nil, err
	}
	if _, builtIn := c.reference(e); builtIn || e.Role == relation.Dependency {
		user.Finalizer, user.Force = c.guardOf(e), c.keeps(e, n)
	}
	if e.Content != nil {
		user.Content = e.Content.String()
	}
	if e.Source.Selector != nil {
		user.Selector = e.Source.String()
	}
	members, err := c.members(ctx, e.Source)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return []User{user}, nil
	}
	users := make([]User, 0, len(members))
	for _, m := range members {
		one := user
		one.Object = &m.ID
		users = append(users, one)
	}
	return users, nil
}

// reason returns what the author of a declaring object gave as one.
func (c *Cluster) reason(declarer object.ID) string {
	n := c.node(declarer)
	if n.full == nil {
		return ""
	}
	reason, _, err := unstructured.NestedString(n.full.Object, "spec", "reason")
	if err != nil {
		return ""
	}
	return reason
}
