package kit

import (
	"context"
	"reflect"
	"slices"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Kind returns the [external.Kind] of a table. A kind with special requests replaces fields of
// the returned value.
func Kind[K Credentialed](c *Connector, table *Table[K]) external.Kind[K, *Resource] {
	observe := table.Observe
	if observe == nil {
		observe = table.report
	}
	var realm func(K) string
	if table.Chosen {
		realm = realmOf[K]
	}
	return external.Kind[K, *Resource]{
		Realm: realm,
		GVK:   GVK(KindOf[K]()), Relations: table.References.Relations, Identify: table.Identify,
		Observe: func(obj K, r *Resource) reconcile.Outcome { return observe(obj, table.withoutMark(r)) },
		Differs: table.Differs, Drifts: table.Drifts,
		Site: func(ctx context.Context, in external.Input[K]) (string, error) { return site(ctx, c, in) },
		Connect: func(ctx context.Context, in external.Input[K]) (external.Access[K, *Resource], error) {
			connection, err := For(ctx, c, in, table.Service)
			if err != nil {
				return external.Access[K, *Resource]{}, err
			}
			a := Actuator[K]{Table: table, Client: connection.Client, Connector: c, project: connection.Scope.ProjectID}
			if table.Place != nil {
				connection.Place, a.project = table.Place(connection.Scope), ""
			}
			if table.Wrap != nil {
				return Access(connection, table.Wrap(a)), nil
			}
			return Access(connection, a), nil
		},
		Cloud: openstack.CloudOf, Name: Name[K], Uses: table.Uses,
		Marked: table.Marked != "", Dated: table.Dated, Lingers: table.Lingers, Vital: table.Vital, Alters: table.Alters,
	}
}

// report writes a resource into status.resource. The resource can be used if its status is in
// [Table.Serving], or if Serving is empty.
func (t *Table[K]) report(obj K, r *Resource) reconcile.Outcome {
	field := reflect.ValueOf(obj).Elem().FieldByName("Status").FieldByName("Resource")
	status := reflect.New(field.Type().Elem())
	Report(r, status.Interface(), t.Names)
	field.Set(status)
	if t.Amend != nil {
		t.Amend(obj, r)
	}
	if len(t.Serving) == 0 {
		return reconcile.Outcome{}
	}
	return Status(r, t.Serving...)
}

// Name returns the name for an object's resource.
func Name[K external.Object](obj K) string {
	if named, ok := any(obj).(interface{ GetResourceName() string }); ok {
		return named.GetResourceName()
	}
	return obj.GetName()
}

// Status returns an Outcome that waits until the status of a resource is in serving.
func Status(r *Resource, serving ...string) reconcile.Outcome {
	state := r.String("status")
	if slices.Contains(serving, state) {
		return reconcile.Outcome{}
	}
	return reconcile.Progress(condition.ReasonProgressing, "OpenStack says that the status is %s", state)
}

// Texts converts values to strings.
func Texts[S ~string](values []S) []string {
	return lists.Map(values, func(v S) string { return string(v) })
}
