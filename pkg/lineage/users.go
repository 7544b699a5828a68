package lineage

import (
	"context"

	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// User is an object that uses Users.Object, such as Deployment/web for Secret/db, or a Usage
// that protects Users.Object.
type User struct {
	// Object uses Users.Object. Object is nil if a Usage has no user, or if
	// no object matches Selector now.
	Object *object.ID `json:"object,omitempty"`
	// Selector is the text of relation.Selector, if a selector finds the users.
	Selector string `json:"selector,omitempty"`
	// Role, Declarer and Field tell which object declares the edge, and in which field (spec.of).
	Role     relation.Role `json:"role"`
	Declarer object.ID     `json:"declarer"`
	Field    string        `json:"field"`
	// Reason is spec.reason of the declarer.
	Reason string `json:"reason,omitempty"`
	// Content is the protected object, if Users.Object is its namespace or
	// the definition of its kind.
	Content string `json:"content,omitempty"`
	// Finalizer keeps Users.Object while Object refers to that object. A
	// deletion is accepted and waits.
	Finalizer string `json:"finalizer,omitempty"`
	// Made counts the objects that Object created with the same reference, such as the
	// Pods of a Deployment. These objects have no User of their own.
	Made int `json:"made,omitempty"`
	Force
}

// Users is the answer of [Cluster.Users].
type Users struct {
	Object object.ID `json:"object"`
	Users  []User    `json:"users"`
	// Locked is the label of a [Lock] on the object. Locked is set if the protecting
	// objects could not all be listed.
	Locked string `json:"locked,omitempty"`
	// Deletion is the API server's answer to a trial deletion (dryRun=All), if there was a trial.
	Deletion *Trial    `json:"deletion,omitempty"`
	Skipped  []Skipped `json:"skipped,omitempty"`
}

// Users returns the users of an object that [Cluster.Find] found, in order. An object
// that composed the object is no user: [Cluster.Tree] shows the composition.
func (c *Cluster) Users(ctx context.Context, n *Node) (*Users, error) {
	c.readDeclarations(ctx, n.ID.Namespace)
	c.readReferrers(ctx, []*Node{n}, func(rule) bool { return true })
	answer := &Users{Object: n.ID, Users: []User{}}
	edges, made := c.collapse(c.index.Targeting(n.object()))
	for _, e := range edges {
		if e.Role != relation.Composition {
			answer.Users = append(answer.Users, c.usersBy(ctx, n, e, made[e.Source.ID])...)
		}
	}
	for _, l := range c.hiddenLocks(n) {
		answer.Locked = l.Label
		c.try(ctx, n)
	}
	if trial, tried := c.trials.Load(n); tried {
		answer.Deletion = &trial
	}
	answer.Skipped = c.skippedFor(n)
	return answer, contextError(ctx, n.ID)
}

// usersBy returns the users of one edge: one user, or one for each selected source.
func (c *Cluster) usersBy(ctx context.Context, n *Node, e relation.Edge, made int) []User {
	user := User{
		Role: e.Role, Declarer: e.Declarer, Field: e.Field, Made: made,
		Reason: c.node(e.Declarer).text("spec", "reason"), Force: c.force(ctx, e, n),
	}
	if r := c.rules.of(e); r.builtIn || e.Role == relation.Dependency {
		user.Finalizer, user.Force = r.Finalizer, holdForce(r.Finalizer, n)
	}
	if e.Content != nil {
		user.Content = e.Content.String()
	}
	if e.Source.Selector != nil {
		user.Selector = e.Source.String()
	}
	members := c.members(ctx, e.Source)
	if len(members) == 0 {
		return []User{user}
	}
	return lists.Map(members, func(m *Node) User {
		user.Object = &m.ID
		return user
	})
}
