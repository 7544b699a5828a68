package external

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Object is what stands for a resource outside.
type Object interface {
	client.Object
	// GetExternalSpec returns what is said of the resource.
	GetExternalSpec() *sharedv1alpha1.ExternalSpec
	// GetExternalStatus returns what is known of the resource, for changing.
	GetExternalStatus() *sharedv1alpha1.ExternalStatus
	// GetImport returns the id of the existing resource to take, if it is known by
	// its id, and whether one is to be taken.
	GetImport() (id string, asked bool)
}

// Input is an object with what its references stand for.
type Input[K Object] struct {
	Object K
	Refs   Refs
}

// Anonymous is an Object whose resource has no id. Its status then has none either.
type Anonymous interface {
	// GetIdentity returns what the resource is known by, as the status tells it; empty
	// when there is none. It MUST be what Identify returns of the resource.
	GetIdentity() string
}

// idOf returns what an object's resource is known by.
func idOf(obj Object) string {
	if id := obj.GetExternalStatus().ID; id != nil {
		return *id
	}
	if anonymous, ok := obj.(Anonymous); ok {
		return anonymous.GetIdentity()
	}
	return ""
}

// Kind is what the engine has to be told of a kind of objects. R is what the API
// outside returns.
type Kind[K Object, R any] struct {
	GVK schema.GroupVersionKind
	// Relations of role Dependency. Waits are told in their order.
	Relations []relation.Relation
	// Connect returns what acts for an object.
	Connect func(ctx context.Context, in Input[K]) (Access[K, R], error)
	// Site names the place that Connect and the actuator call, such as the address of a cloud.
	// Site MUST NOT call that place. Places have fair shares of the workers, and one that does
	// not answer is asked less often. Site may be nil if there is only one place.
	Site func(ctx context.Context, in Input[K]) (string, error)
	// Identify returns what tells a resource from others.
	Identify func(R) Identity
	// Cloud returns the cloud of a recorded place ([Access.Place]), as [Access.Cloud] has it.
	// It may be nil if there is only one cloud.
	Cloud func(place string) string
	// Realm returns what an object's id is unique in, for kinds whose ids are chosen by
	// people, so that the same one means another resource elsewhere. It may be nil.
	Realm func(K) string
	// Name returns what the resource is to be called, to find it by when it is not
	// known whether it was created.
	Name func(K) string
	// Address returns the id that the resource will have, for clouds whose clients choose the id:
	// Create sends PUT /things/blue instead of POST /things, for example. Before the first Create
	// the id is looked up, since a PUT would change a resource that exists. Address may be nil.
	Address func(Input[K]) string
	// Differs returns the fields in which the resource is not as it should be and
	// which can be changed, in a fixed order.
	Differs func(Input[K], R) []string
	// Vital are the fields of which Differs tells without which a resource does not serve,
	// although it did.
	Vital []string
	// Drifts tells in what the resource is not as it should be and can't be changed. It
	// may be nil.
	Drifts func(Input[K], R) []string
	// Observe writes the resource into the status and returns what keeps it from
	// being of use; done means that it serves, once nothing differs. Invalid means that
	// somebody has to act: nothing is under way any more.
	Observe func(K, R) reconcile.Outcome
	// Dated says that resources tell when they were made, so that those from before an
	// attempt are known from one that it made. Where they don't, and are not Marked,
	// the name is looked up before the attempt.
	Dated bool
	// Lingers says that a resource exists for a while after its deletion was
	// accepted.
	Lingers bool
	// Marked says that Create writes the uid of the object into the resource, and that
	// Identify returns the uid. A resource without the uid is never taken for the created one.
	Marked bool
	// Shared, if set, says that several objects may share one resource, and returns the key
	// of that resource. The key of a router interface has the ids of the router and the
	// subnet, for example. Find returns the resource of the key. The resource is deleted with
	// the last object.
	Shared func(Input[K]) string
	// Uses returns the resources that the object's resource uses, according to the status,
	// beside the resources of its references: the subnets in which a port has addresses, for
	// example. Refused deletions of these are tried again when the object is gone. Uses may
	// be nil.
	Uses func(K) []Resource
	// Alters are kinds whose resources are no longer as they were once the resource
	// of an object that refers to them comes, goes, or refers to others: the ports of
	// a server, for example. They are looked at again.
	Alters []schema.GroupKind
	// Tasks do what takes long for the objects beside their passes. Tasks may be nil.
	Tasks Tasks
	// Compose, if set, makes objects of our own that belong to an object, once its
	// resource exists; Dissolve has them removed before it goes.
	Compose  func(context.Context, Input[K]) reconcile.Outcome
	Dissolve func(context.Context, K) reconcile.Outcome
}

// Used reports whether what a reference stands for, which may be a content, is
// what the object used last.
func (in Input[K]) Used(gk schema.GroupKind, name string) bool {
	return slices.ContainsFunc(in.Object.GetExternalStatus().ObservedDependencies,
		func(d sharedv1alpha1.ObservedDependency) bool {
			return d.Kind == gk.Kind && d.Name == name && d.ID == in.Refs.Version(gk, name)
		})
}

// Identity tells a resource from others.
type Identity struct {
	ID string
	// Created is when the resource was made; zero if the API does not say.
	Created time.Time
	// Marker is the uid of the object that the resource was made for; empty where
	// the API takes none.
	Marker types.UID
	// Unfinished says that the marker is in a field that people read, until Update writes
	// there what the spec wants. No other object imports such a resource. An example is a
	// floating IP that has the uid for a description.
	Unfinished bool
}

// Search says which resources an Actuator is to find.
type Search struct {
	// Imported means to find by the object's own filter. Else it is to find what was
	// created for the object: by Name, and by what of its spec can't change.
	Imported bool
	Name     string
}

// Actuator does to the resources of one kind what objects ask for. Errors SHOULD
// be of type *Error; any other is repeated with back-off.
type Actuator[K Object, R any] interface {
	// Get returns a resource.
	Get(ctx context.Context, in Input[K], id string) (R, error)
	// Find returns the resources that match.
	Find(ctx context.Context, in Input[K], search Search) ([]R, error)
	// Create makes the resource, in one call whose answer has its id. What else is
	// to be done is left to Update.
	Create(ctx context.Context, in Input[K]) (R, error)
	// Update corrects the fields that differ and returns the resource as it is then.
	Update(ctx context.Context, in Input[K], resource R, fields []string) (R, error)
	// Delete has a resource deleted. An Error of class Pending says that this takes a while: the
	// engine then calls Get until the resource is missing.
	Delete(ctx context.Context, in Input[K], id string) error
}

// Access is what acts for an object.
type Access[K Object, R any] struct {
	Actuator Actuator[K, R]
	// Scope is the same for all objects that see the same resources.
	Scope string
	// Place is where it acts, for people, such as a project of a cloud. What is missing
	// there may be in another place still. Empty means that there is no other.
	Place string
	// Cloud is the name of the cloud, in which ids are unique. Equal ids of two clouds are
	// unrelated: a tenant may run a cloud that answers with the ids of another cloud. Empty
	// means that there is only one cloud.
	Cloud string
}

// Lister is an Actuator that can return all resources that its scope sees, so that
// one request serves many objects.
type Lister[R any] interface {
	List(ctx context.Context) ([]R, error)
}

// PartialLister is a Lister whose lists lack fields that Get returns. A list then only tells
// whether a change that was under way has ended. While Nova builds ten servers, for example,
// one list tells the state of all ten; each built server is read once by Get.
type PartialLister[R any] interface {
	Lister[R]
	// IsPartial reports whether a listed resource lacks fields that are needed now.
	IsPartial(resource R) bool
}

// Resumer is an Actuator whose Create may begin an operation that takes long. Create then returns
// an Error of class Pending with an Operation. The engine records the Operation in the object, so
// that another process goes on with it, and calls Resume until the operation has ended.
type Resumer[K Object] interface {
	// Resume returns nil when the operation has succeeded, and an Error of class Pending while it
	// runs: After is when to ask again. Any other class is that of the failed operation; Missing
	// says that the cloud does not know the operation any more.
	Resume(ctx context.Context, in Input[K], operation string) error
}

// Completer is an Actuator whose resources don't tell all of themselves: neither
// in the answer to Get nor in a list.
type Completer[R any] interface {
	// Complete adds what has to be asked for separately.
	Complete(ctx context.Context, resource R) (R, error)
}

// Tasks do what takes long for objects, such as the streams of the contents of Images. While a task
// runs, an Actuator returns an Error of class Underway, so that no worker waits and nothing is
// polled. Tasks are safe for concurrent use.
type Tasks interface {
	// Start runs tasks until the context ends. The engine adds Tasks to the manager.
	manager.Runnable
	// Serve is called once, before Start, with the function that requeues an object.
	Serve(requeue func(client.Object))
	// Drop ends the task of an object that is gone. Drop MUST NOT block.
	Drop(uid types.UID)
}

// Class says what an error of an API outside means.
type Class int

const (
	// Transient may be gone at the next try. Whether anything was done is not known.
	Transient Class = iota
	// Refused was answered: nothing was done, and the next try may succeed.
	Refused
	// Busy is Refused because something else uses the resource or changes it, such as a port
	// that is deleted at the same time. That ends without a change of the request.
	Busy
	// Missing says that there is no such resource.
	Missing
	// Invalid says that the spec has to change first.
	Invalid
	// Pending says that a change was accepted and takes a while. The resource that
	// Update returns with it can be used meanwhile, or not, as Observe finds.
	Pending
	// Underway is no error: Tasks have something to do, and requeue the object at the end.
	Underway
)

// Error is an error of an API outside, understood.
type Error struct {
	Class Class
	// After is when to try again, if the API said so.
	After time.Duration
	// Late says of a Transient error that somebody in between did not wait for the
	// answer: what was asked may still be carried out.
	Late bool
	// TooMuch says that a list is longer than the memory for lists. Resources that Get can read
	// one by one are not listed again for a while.
	TooMuch bool
	// Outage says that the API itself fails: no answer in time, a failure of its own, or the
	// request to be left alone. After some of these in a row it is asked less often.
	Outage bool
	// Operation is what [Resumer] resumes an operation by, for errors of class Pending. It is at
	// most maxOperation bytes long.
	Operation string
	// Message for people.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// IsMissing reports whether an error says that there is no such resource.
func IsMissing(err error) bool { return isClass(err, Missing) }

// IsInvalid reports whether an error says that the request was wrong.
func IsInvalid(err error) bool { return isClass(err, Invalid) }

// Refs are the references of an object, resolved.
type Refs = engine.Refs

// observedTargets returns the values of the references, as the status records them.
func observedTargets(refs Refs) []sharedv1alpha1.ObservedDependency {
	var all []sharedv1alpha1.ObservedDependency
	for _, t := range refs.Targets() {
		if d, ok := observedTarget(t); ok && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// observedTarget returns the entry of status.observedDependencies for one reference, and
// whether the reference has an entry. The target of a relation with Once has none: after the
// creation the resource does not use the target, such as the Image of a Server.
func observedTarget(t engine.Target) (sharedv1alpha1.ObservedDependency, bool) {
	d := sharedv1alpha1.ObservedDependency{Kind: t.ID().Kind, Name: t.ID().Name, ID: t.Value()}
	return d, t.Value() != "" && !t.Relation().Once
}

// Named returns the edges from an object to the objects of a kind that it names,
// in its own namespace. Empty names are left out.
func Named[S ~string](obj client.Object, source, target schema.GroupKind, field string, names ...S) []relation.Edge {
	declarer := object.Of(obj, source)
	var edges []relation.Edge
	for _, name := range names {
		if name == "" {
			continue
		}
		edges = append(edges, relation.Edge{
			Role: relation.Dependency, Declarer: declarer, Source: relation.Named(declarer), Field: field,
			Target: relation.Named(object.ID{
				Group: target.Group, Kind: target.Kind, Namespace: obj.GetNamespace(), Name: string(name),
			}),
		})
	}
	return edges
}
