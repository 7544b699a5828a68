package kit

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Kind returns what the engine has to know of a kind that is a table and nothing
// more. A kind that is more replaces parts of it.
func Kind[K Credentialed](
	c *Connector, kind string, service Service, table *Table[K], relations []relation.Relation,
	observe func(K, *Resource) reconcile.Outcome,
) external.Kind[K, *Resource] {
	return external.Kind[K, *Resource]{
		GVK: GVK(kind), Relations: relations, Identify: table.Identify,
		Observe: func(obj K, r *Resource) reconcile.Outcome { return observe(obj, table.withoutMark(r)) },
		Differs: table.Differs, Drifts: table.Drifts,
		Site: func(ctx context.Context, in external.Input[K]) (string, error) { return Site(ctx, c, in) },
		Connect: func(ctx context.Context, in external.Input[K]) (external.Access[K, *Resource], error) {
			connection, err := For(ctx, c, in, service)
			if err != nil {
				return external.Access[K, *Resource]{}, err
			}
			a := Actuator[K]{Table: table, Client: connection.Client, project: connection.Scope.ProjectID}
			if table.Place != nil {
				connection.Place, a.project = table.Place(connection.Scope), ""
			}
			return Access(connection, a), nil
		},
		Cloud: openstack.CloudOf, Name: Name[K], Marked: table.Marked != "", Dated: table.Dated,
	}
}

// Name returns what an object's resource is to be called.
func Name[K external.Object](obj K) string {
	if named, ok := any(obj).(interface{ GetResourceName() string }); ok {
		return named.GetResourceName()
	}
	return obj.GetName()
}

// Status waits until a resource has one of the states in which it serves.
func Status(r *Resource, serving ...string) reconcile.Outcome {
	state := r.String("status")
	if slices.Contains(serving, state) {
		return reconcile.Outcome{}
	}
	return reconcile.Progress(condition.ReasonProgressing, "OpenStack says that the status is %s", state)
}

// Query collects what a filter asks for.
type Query struct{ url.Values }

// NewQuery returns an empty one.
func NewQuery() Query { return Query{url.Values{}} }

// Add adds a value, if there is one.
func Add[T any](q Query, name string, value *T) {
	if value != nil {
		q.Set(name, fmt.Sprint(*value))
	}
}

// NeutronTags adds a filter by tags.
func (q Query) NeutronTags(f openstackv1alpha1.FilterByNeutronTags) {
	join(q, "tags", f.Tags)
	join(q, "tags-any", f.TagsAny)
	join(q, "not-tags", f.NotTags)
	join(q, "not-tags-any", f.NotTagsAny)
}

// ServerTags adds a filter by tags.
func (q Query) ServerTags(f openstackv1alpha1.FilterByServerTags) {
	join(q, "tags", f.Tags)
	join(q, "tags-any", f.TagsAny)
	join(q, "not-tags", f.NotTags)
	join(q, "not-tags-any", f.NotTagsAny)
}

// KeystoneTags adds a filter by tags.
func (q Query) KeystoneTags(f openstackv1alpha1.FilterByKeystoneTags) {
	join(q, "tags", f.Tags)
	join(q, "tags-any", f.TagsAny)
	join(q, "not-tags", f.NotTags)
	join(q, "not-tags-any", f.NotTagsAny)
}

func join[S ~string](q Query, name string, tags []S) {
	if len(tags) > 0 {
		q.Set(name, strings.Join(Texts(tags), ","))
	}
}

// Texts returns values as plain texts.
func Texts[S ~string](values []S) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

// Wrap returns a kind that makes some requests in a way of its own.
func Wrap[K external.Object](
	k external.Kind[K, *Resource], wrap func(Actuator[K]) external.Actuator[K, *Resource],
) external.Kind[K, *Resource] {
	connect := k.Connect
	k.Connect = func(ctx context.Context, in external.Input[K]) (external.Access[K, *Resource], error) {
		access, err := connect(ctx, in)
		if err == nil {
			access.Actuator = wrap(access.Actuator.(Actuator[K]))
		}
		return access, err
	}
	return k
}
