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

// Object stands for a resource outside of Kubernetes, as a Network stands for a network of Neutron.
type Object interface {
	client.Object
	// GetExternalSpec returns the part of the spec that all kinds have.
	GetExternalSpec() *sharedv1alpha1.ExternalSpec
	// GetExternalStatus returns the part of the status that all kinds have. The engine changes it.
	GetExternalStatus() *sharedv1alpha1.ExternalStatus
	// GetImport reports whether spec.import or spec.adopt is set, and returns the id in there. The id
	// is empty if a filter describes the resource.
	GetImport() (id string, asked bool)
}

// Input is an object with its resolved references.
type Input[K Object] struct {
	Object K
	Refs   Refs
}

// Anonymous is an Object whose resource has no id. Its status then has none either.
type Anonymous interface {
	// GetIdentity returns the identity of the resource in the status, or "" if the status has none.
	// A RoleAssignment returns its path projects/P/users/U/roles/R, for example. GetIdentity MUST
	// return what Kind.Identify returns for the resource.
	GetIdentity() string
}

// idOf returns status.id of an object, or the identity of an Anonymous one.
func idOf(obj Object) string {
	if id := obj.GetExternalStatus().ID; id != nil {
		return *id
	}
	if anonymous, ok := obj.(Anonymous); ok {
		return anonymous.GetIdentity()
	}
	return ""
}

// Kind describes a kind of objects to the Engine. K is the Go type of the objects, and R the Go
// type of the resources that the Actuator returns.
type Kind[K Object, R any] struct {
	GVK schema.GroupVersionKind
	// New returns an empty object, such as NewUnstructured of the GVK. Nil means a new value of the
	// Go type, which the scheme then knows.
	New func() K
	// Relations of role Dependency or Owner. Conditions name missing targets in this order.
	Relations []relation.Relation
	// Connect turns the credentials of an object into an Actuator.
	Connect func(ctx context.Context, in Input[K]) (Access[K, R], error)
	// Site names the place that Connect and the actuator call, such as the address of a cloud.
	// Site MUST NOT call that place. Places have fair shares of the workers, and one that does
	// not answer is asked less often. Site may be nil if there is only one place.
	Site func(ctx context.Context, in Input[K]) (string, error)
	// Identify returns the id, the age and the mark of a resource.
	Identify func(R) Identity
	// Cloud returns the cloud of a recorded place ([Access.Place]), as [Access.Cloud] has it.
	// It may be nil if there is only one cloud.
	Cloud func(place string) string
	// Key returns a text that is equal for the ids of one resource. The cloud may not regard the case of
	// letters, so that /things/Blue and /things/blue are one resource, for example. Key may be nil: then
	// each id is of another resource.
	Key func(id string) string
	// Realm returns the namespace of ids that an object's id belongs to, for kinds whose ids people
	// choose. Two users of Nova may each have a key pair "laptop", so that the Realm of a KeyPair
	// names the user, for example. Realm may be nil.
	Realm func(K) string
	// Name returns the name of the resource. After a Create without an answer, Find searches for a
	// resource of this name.
	Name func(K) string
	// Address returns the id that the resource will have, for clouds whose clients choose the id:
	// Create sends PUT /things/blue instead of POST /things, for example. Before the first Create
	// the id is looked up, since a PUT would change a resource that exists. Address may be nil.
	Address func(Input[K]) string
	// Differs returns the fields of the resource that differ from the spec and that Update can
	// change, in a fixed order.
	Differs func(Input[K], R) []string
	// Vital are the fields of Differs that a resource needs to serve: an object is not Available
	// while a vital field differs.
	Vital []string
	// Drifts returns a text for each field that differs from the spec and that no request can
	// change. Drifts may be nil.
	Drifts func(Input[K], R) []string
	// Observe writes the resource into status.resource, and returns why the resource does not serve
	// yet. Done means that the resource serves. Waiting or Progressing has the object polled, such as
	// while a Server has the status BUILD. Invalid ends the polls, such as for the status ERROR.
	Observe func(K, R) reconcile.Outcome
	// Dated says that Identity.Created is set. A resource that is older than an intent was not
	// created by the attempt of the intent. For a kind that is neither Dated nor Marked, the intent
	// records which resources of the name exist before the attempt.
	Dated bool
	// Cascades says that the cloud deletes the resources of owned objects (relation.Owner) with the
	// resource, as a resource group takes its networks along. An owned object that is deleted then
	// leaves the deletion to its owner if that is deleted too, and the owner waits for the objects
	// that refer to what it owns.
	Cascades bool
	// Leaving reports whether a resource is being deleted. Delete is not called again for such a
	// resource, also by another process. Leaving may be nil.
	Leaving func(R) bool
	// Lingers says that a resource exists for a while after Delete has succeeded: Get is called until
	// the resource is missing.
	Lingers bool
	// Marked says that Create writes the uid of the object into the resource, and that
	// Identify returns the uid. A resource without the uid is never taken for the created one.
	Marked bool
	// Serial names the place in which the cloud changes one resource at a time, such as the table of a
	// route: objects of the kind with the same text take turns for their creations, updates and deletions
	// (serial.go). Serial is called after Connect. An empty text, or a nil Serial, means that changes are
	// independent.
	Serial func(Input[K]) string
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
	// Alters are kinds of targets whose resources change with the resource of this kind. Nova writes
	// device_id into the ports of a server, for example: the Ports are requeued when the Server
	// serves, changes its ports, or is deleted.
	Alters []schema.GroupKind
	// Tasks do what takes long for the objects beside their passes. Tasks may be nil.
	Tasks Tasks
	// Compose creates objects that belong to an object, once its resource exists, as a Subnet with
	// routerRef has a RouterInterface. Dissolve deletes these objects before the resource. Both may
	// be nil.
	Compose  func(context.Context, Input[K]) reconcile.Outcome
	Dissolve func(context.Context, K) reconcile.Outcome
}

// Used reports whether status.observedDependencies records the present value of a reference: the
// id of a resource, or the version of a Secret.
func (in Input[K]) Used(gk schema.GroupKind, name string) bool {
	return slices.ContainsFunc(in.Object.GetExternalStatus().ObservedDependencies,
		func(d sharedv1alpha1.ObservedDependency) bool {
			return d.Kind == gk.Kind && d.Name == name && d.ID == in.Refs.Version(gk, name)
		})
}

// Identity is the id of a resource, with its name, its age and its mark.
type Identity struct {
	ID string
	// Name is the name of the resource, as Kind.Name has it. It may be empty.
	Name string
	// Created is when the resource was created; zero if the API does not tell.
	Created time.Time
	// Marker is the uid of the object that the resource was created for; empty if the API has no
	// field for a mark.
	Marker types.UID
	// Unfinished says that the marker is in a field that people read, until Update writes
	// there what the spec wants. No other object imports such a resource. An example is a
	// floating IP that has the uid for a description.
	Unfinished bool
}

// Search describes the resources that Find returns.
type Search struct {
	// Imported means the resources that spec.import.filter or spec.adopt.filter describes. Otherwise
	// Find returns the resources that a Create for the object may have created: of Name, and with
	// the fields of the spec that no request can change.
	Imported bool
	Name     string
}

// Actuator sends the requests for the resources of one kind. Errors SHOULD be of type *Error; a
// call with any other error is repeated with back-off.
type Actuator[K Object, R any] interface {
	// Get returns a resource.
	Get(ctx context.Context, in Input[K], id string) (R, error)
	// Find returns the resources that match.
	Find(ctx context.Context, in Input[K], search Search) ([]R, error)
	// Create creates the resource with one request. The resource that Create returns MUST have an id.
	// Fields that need more requests, such as tags, are left to Update.
	Create(ctx context.Context, in Input[K]) (R, error)
	// Update changes the fields that differ, and returns the resource with the changes. Another call
	// for the same fields MUST do no harm.
	Update(ctx context.Context, in Input[K], resource R, fields []string) (R, error)
	// Delete deletes a resource. An Error of class Pending says that this takes a while: the
	// engine then calls Get until the resource is missing.
	Delete(ctx context.Context, in Input[K], id string) error
}

// Access is an Actuator with the place that it calls.
type Access[K Object, R any] struct {
	Actuator Actuator[K, R]
	// Scope is equal for objects whose credentials see the same resources. One list serves all
	// objects of a Scope.
	Scope string
	// Place is where the Actuator finds and creates resources, such as a project of a cloud. The
	// status records the Place. A resource that is missing in one Place may exist in another Place.
	// An empty Place means that there is one place only.
	Place string
	// Cloud is the name of the cloud, in which ids are unique. Equal ids of two clouds are
	// unrelated: a tenant may run a cloud that answers with the ids of another cloud. Empty
	// means that there is only one cloud.
	Cloud string
}

// Lister is an Actuator that can list all resources of its Scope, so that one request serves many
// objects.
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

// Resumer is an Actuator whose Create and Update may begin an operation that takes long. They then
// return an Error of class Pending with an Operation, and the engine calls Resume until the operation
// has ended. The object records the operation of a Create, so that another process goes on with the
// operation. After a restart during the operation of an Update, Update is called again.
type Resumer[K Object] interface {
	// Resume returns nil when the operation has succeeded, and an Error of class Pending while it
	// runs: After is when to ask again, and Operation, if set, by what. Any other class is that of
	// the failed operation; Missing says that the cloud does not know the operation any more.
	Resume(ctx context.Context, in Input[K], operation string) error
}

// Completer is an Actuator whose Get and List lack fields that another request returns.
type Completer[R any] interface {
	// Complete returns the resource with these fields.
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

// Class says what an error of an Actuator means.
type Class int

const (
	// Transient errors may be gone at the next try. The request may have been carried out.
	Transient Class = iota
	// Refused says that the cloud did not carry out the request. The next try may succeed.
	Refused
	// Busy is Refused because something else uses the resource or changes it, such as a port
	// that is deleted at the same time. That ends without a change of the request.
	Busy
	// Missing says that there is no such resource.
	Missing
	// Invalid says that the spec has to change first.
	Invalid
	// Pending says that a request was accepted and takes a while. Update returns the resource with
	// this error; Observe decides whether the resource serves meanwhile.
	Pending
	// Underway is no error: Tasks have something to do, and requeue the object at the end.
	Underway
)

// Error is an error of an Actuator with its Class.
type Error struct {
	Class Class
	// After is when to try again, from the header Retry-After; zero if the answer has none.
	After time.Duration
	// Late says of a Transient error that a proxy did not wait for the answer: the cloud may still
	// carry out the request.
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
	// Reason is the reason of the condition, with Options.Specific. It may be empty.
	Reason string
	// Message is part of the condition.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// IsMissing reports whether an error is an Error of class Missing.
func IsMissing(err error) bool { return isClass(err, Missing) }

// IsInvalid reports whether an error is an Error of class Invalid.
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
	d := sharedv1alpha1.ObservedDependency{
		Group: t.ID().Group, Kind: t.ID().Kind, Name: t.ID().Name, ID: t.Value(),
	}
	return d, t.Value() != "" && !t.Relation().Once
}

// Named returns the edges from an object to the objects of a kind in its namespace with these names.
// Empty names are left out.
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
