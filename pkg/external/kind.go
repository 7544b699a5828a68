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

// Object stands for a resource outside of Kubernetes. For example, a Network stands for a network of
// Neutron.
type Object interface {
	client.Object
	// GetExternalSpec returns the part of the spec that all kinds have (ManagementPolicy, ManagedOptions,
	// ResyncPeriod).
	GetExternalSpec() *sharedv1alpha1.ExternalSpec
	// GetExternalStatus returns the part of the status that all kinds have. [Engine] changes the returned
	// ExternalStatus.
	GetExternalStatus() *sharedv1alpha1.ExternalStatus
	// GetImport reports whether spec.import or spec.adopt is set, and returns spec.import.id or
	// spec.adopt.id. The id is empty if a filter (spec.import.filter) describes the resource.
	GetImport() (id string, asked bool)
}

// Input is an object with its resolved references.
type Input[K Object] struct {
	Object K
	Refs   Refs
}

// Anonymous is an Object whose resource has no id, such as a RoleAssignment. The object then has no
// status.id.
type Anonymous interface {
	// GetIdentity returns the identity that status.resource implies, or "" if status.resource is empty. For
	// example, a RoleAssignment returns the path projects/P/users/U/roles/R. GetIdentity MUST return the ID
	// that [Kind.Identify] returns for the resource.
	GetIdentity() string
}

// idOf returns status.id of an object, or Anonymous.GetIdentity if status.id is not set.
func idOf(obj Object) string {
	if id := obj.GetExternalStatus().ID; id != nil {
		return *id
	}
	if anonymous, ok := obj.(Anonymous); ok {
		return anonymous.GetIdentity()
	}
	return ""
}

// Kind describes a kind of objects to the [Engine]. K is the Go type of the objects, such as *Network. R
// is the Go type of the resources that [Actuator] returns.
type Kind[K Object, R any] struct {
	GVK schema.GroupVersionKind
	// New returns an empty object, for example by [NewUnstructured] for the GVK. If New is nil, the engine
	// allocates the Go type K, and the scheme must know K.
	New func() K
	// Relations have role relation.Dependency or relation.Owner. Conditions name missing targets in the order
	// of Relations.
	Relations []relation.Relation
	// Connect turns the credentials of an object into an [Actuator].
	Connect func(ctx context.Context, in Input[K]) (Access[K, R], error)
	// Site names the place that Connect and the [Actuator] call, such as the address of a cloud. Site MUST
	// NOT send requests. Places get fair shares of [Options.Workers], and a place without answers is called
	// less often (turns.go). Site may be nil if there is a single place.
	Site func(ctx context.Context, in Input[K]) (string, error)
	// Identify returns the [Identity] of a resource: ID, Created and Marker.
	Identify func(R) Identity
	// Cloud returns the [Access.Cloud] of a recorded [Access.Place]. Cloud may be nil if there is a single
	// cloud.
	Cloud func(place string) string
	// Key returns the same text for every spelling of an id. For example, if the cloud ignores the case of
	// letters, /things/Blue and /things/blue are the same resource, and Key returns lower case. If Key is
	// nil, different ids are different resources.
	Key func(id string) string
	// Realm returns the namespace of an object's id, for kinds whose ids people choose. For example, two
	// users of Nova may each have a key pair "laptop", so the Realm of a KeyPair names the user. Realm may be
	// nil.
	Realm func(K) string
	// Name returns the name of the resource. After an [Actuator.Create] without an answer, [Actuator.Find]
	// searches for this name ([Search.Name]).
	Name func(K) string
	// Address returns the id that the resource will have, for clouds whose clients choose the id: Create
	// sends PUT /things/blue instead of POST /things. The engine calls [Actuator.Get] for the Address before
	// the first Create, because a PUT would change a resource that exists. Address may be nil.
	Address func(Input[K]) string
	// Differs returns the fields of the resource that differ from the spec and that [Actuator.Update] can
	// change. The order of the fields MUST be fixed.
	Differs func(Input[K], R) []string
	// Vital lists fields of Differs that a resource needs to serve, such as the rules of a SecurityGroup.
	// While a field of Vital differs, the object has Available=False.
	Vital []string
	// Drifts returns a text for each field that differs from the spec and that [Actuator.Update] can't
	// change. Drifts may be nil.
	Drifts func(Input[K], R) []string
	// Observe writes the resource into status.resource, and returns why the resource does not serve yet. Done
	// means that the resource serves. Waiting or Progressing makes the engine poll the resource: a Server is
	// Progressing while Nova says BUILD. Invalid ends the polls, such as for the status ERROR.
	Observe func(K, R) reconcile.Outcome
	// Dated says that [Identity.Created] is set. A resource that is older than the intent was not created by
	// the intent's attempt. For a kind without Dated and without Marked, intent.Before lists the resources
	// that had the name before the attempt.
	Dated bool
	// Cascades says that the cloud deletes the resources of owned objects (relation.Owner) with the resource:
	// deleting a ResourceGroup deletes the resources of its VirtualNetworks. If both objects are deleted, the
	// VirtualNetwork sends no request and waits for the ResourceGroup (reconciler.awaitOwner). The
	// ResourceGroup waits for the objects that refer to the VirtualNetwork (reconciler.awaitUsersOfOwned). Once
	// the cloud has accepted the deletion of the ResourceGroup, the engine deletes the VirtualNetwork too
	// (reconciler.deleteEarly), for which the operator needs the verbs get and delete.
	Cascades bool
	// Within reports whether the resource with an id is inside the resource with the other id, and can't
	// outlive the container. If the container of the owner is gone, reconciler.wentWithOwner ends the inner
	// object without a request. Within may be nil.
	Within func(id, other string) bool
	// Leaving reports whether a resource is already being deleted. The engine does not repeat
	// [Actuator.Delete] for such a resource, even if another process sent the first request. Leaving may be
	// nil.
	Leaving func(R) bool
	// Lingers says that a resource exists for a while after [Actuator.Delete] succeeded. The engine calls
	// [Actuator.Get] until the error has class [Missing].
	Lingers bool
	// Marked says that Create writes metadata.uid of the object into the resource, and that Identify returns
	// the uid as [Identity.Marker]. The engine never takes a resource without the uid for the created
	// resource.
	Marked bool
	// Serial names the place in which the cloud changes a single resource at a time: the id of the resource
	// that the cloud locks, such as the network of a Subnet. Objects of all kinds with the same Serial take
	// turns for Create, Update and Delete (serial.go): the Subnets and the Peerings of a network, and the
	// Network if its Serial is its own id. The engine calls Serial after Connect. An empty text, or a nil
	// Serial, means that changes are independent.
	Serial func(Input[K]) string
	// Shared, if set, says that several objects may share a resource, and returns the key of that resource.
	// For example, the key of a RouterInterface consists of the ids of the Router and the Subnet.
	// [Actuator.Find] returns the resource with the key. The resource is deleted with its last object
	// (share.go).
	Shared func(Input[K]) string
	// Uses returns the resources that the object's resource uses according to status.resource, in addition to
	// the resources of its references. For example, a port uses the subnets of its addresses. When the object
	// is gone, deletions of these resources that the cloud refused as [Busy] are repeated (occupancy.go).
	// Uses may be nil.
	Uses func(K) []Resource
	// Alters lists kinds of targets whose resources change with the resource of this kind. For example, Nova
	// writes device_id into the ports of a server: the Ports are requeued when the Server serves, changes its
	// ports, or is deleted (alter.go).
	Alters []schema.GroupKind
	// Tasks do long work for the objects outside of their passes ([Underway]). Tasks may be nil.
	Tasks Tasks
	// Compose creates the objects that belong to an object whose resource exists. For example, a Subnet with
	// spec.routerRef gets a RouterInterface. Dissolve deletes the composed objects before the resource.
	// Compose and Dissolve may be nil.
	Compose  func(context.Context, Input[K]) reconcile.Outcome
	Dissolve func(context.Context, K) reconcile.Outcome
}

// Used reports whether status.observedDependencies records the present value of a reference. The value is
// the id of a resource, or the resourceVersion of a Secret.
func (in Input[K]) Used(gk schema.GroupKind, name string) bool {
	return slices.ContainsFunc(in.Object.GetExternalStatus().ObservedDependencies,
		func(d sharedv1alpha1.ObservedDependency) bool {
			return d.Kind == gk.Kind && d.Name == name && d.ID == in.Refs.Version(gk, name)
		})
}

// Identity is the id of a resource, with its name, its age and its mark.
type Identity struct {
	ID string
	// Name is the name of the resource in the form of [Kind.Name], or empty.
	Name string
	// Created is when the resource was created; zero if the API does not say ([Kind.Dated]).
	Created time.Time
	// Marker is metadata.uid of the object for which Create made the resource; empty if the API has no field
	// for the uid ([Kind.Marked]).
	Marker types.UID
	// Unfinished says that Marker is in a field that people read, such as the description of a floating IP,
	// until [Actuator.Update] writes the text of the spec. No other object imports a resource with Unfinished
	// (create.go).
	Unfinished bool
}

// Search describes the resources that [Actuator.Find] returns.
type Search struct {
	// Imported selects the resources that spec.import.filter or spec.adopt.filter describes. Without
	// Imported, Find returns the resources that a Create for the object may have made: resources with Name,
	// and with the fields of the spec that no request can change.
	Imported bool
	Name     string
}

// Actuator sends the requests for the resources of a [Kind]. Errors SHOULD be of type *[Error]; the engine
// repeats a call with any other error with back-off.
type Actuator[K Object, R any] interface {
	// Get returns a resource.
	Get(ctx context.Context, in Input[K], id string) (R, error)
	// Find returns the resources that match.
	Find(ctx context.Context, in Input[K], search Search) ([]R, error)
	// Create creates the resource with a single request. The returned resource MUST have an id unless the
	// object is [Anonymous]. Fields that need more requests, such as tags, are left to Update.
	Create(ctx context.Context, in Input[K]) (R, error)
	// Update changes the given fields ([Kind.Differs]), and returns the changed resource. A second call for
	// the same fields MUST do no harm.
	Update(ctx context.Context, in Input[K], resource R, fields []string) (R, error)
	// Delete deletes a resource. After an [Error] of class [Pending] the engine calls Get until the error has
	// class [Missing].
	Delete(ctx context.Context, in Input[K], id string) error
}

// Access is an [Actuator] with the place that the Actuator calls.
type Access[K Object, R any] struct {
	Actuator Actuator[K, R]
	// Scope is equal for objects whose credentials see the same resources. One [Lister.List] serves all
	// objects of a Scope.
	Scope string
	// Place is where the Actuator finds and creates resources, such as a project of a cloud. The engine
	// records Place as status.place. A resource that is [Missing] at Place a may exist at Place b. Place is
	// empty if there is a single place.
	Place string
	// Cloud is the name of the cloud in which ids are unique. Equal ids of two clouds are unrelated: a tenant
	// may run a cloud that returns the ids of another cloud. Cloud is empty if there is a single cloud.
	Cloud string
}

// Lister is an [Actuator] that can list all resources of its [Access.Scope], so that a single List
// replaces many calls of Get.
type Lister[R any] interface {
	List(ctx context.Context) ([]R, error)
}

// PartialLister is a [Lister] whose lists lack fields that [Actuator.Get] returns. The engine uses such a
// list only to find out whether a change has ended. For example, while Nova builds ten servers, List
// returns the status of all ten, and Get reads each server once when its status is no longer BUILD.
type PartialLister[R any] interface {
	Lister[R]
	// IsPartial reports whether a listed resource lacks fields that the engine needs now.
	IsPartial(resource R) bool
}

// Resumer is an [Actuator] whose Create and Update may begin a long operation. Create and Update then
// return an [Error] of class [Pending] with [Error.Operation], and the engine calls Resume until the
// operation has ended. The object records the operation of a Create (intent.Operation), so that another
// process can call Resume. The operation of an Update is in memory only: after a restart the engine calls
// Update again.
type Resumer[K Object] interface {
	// Resume returns nil when the operation has succeeded, and an [Error] of class [Pending] while the
	// operation runs. [Error.After] is when to call Resume again; [Error.Operation], if set, is the argument
	// of that call. An error of another class is the end of a failed operation. [Missing] says that the cloud
	// no longer knows the operation.
	Resume(ctx context.Context, in Input[K], operation string) error
}

// Completer is an [Actuator] whose Get and List lack fields that another request returns.
type Completer[R any] interface {
	// Complete returns the resource with the fields that [Actuator.Get] lacks.
	Complete(ctx context.Context, resource R) (R, error)
}

// Tasks do long work for objects, such as the stream of an Image's content. While a task runs, the
// [Actuator] returns an [Error] of class [Underway]: no worker waits, and the engine does not poll. Tasks
// are safe for concurrent use.
type Tasks interface {
	// Start runs tasks until the context ends. [Engine.Start] adds Tasks to the manager.
	manager.Runnable
	// Serve is called once, before [Engine.Start], with the function that requeues an object.
	Serve(requeue func(client.Object))
	// Drop ends the task of a deleted object. Drop MUST NOT block.
	Drop(uid types.UID)
}

// Class is the meaning of an [Error].
type Class int

const (
	// Transient errors may be gone at the next try. The cloud may have carried out the request.
	Transient Class = iota
	// Refused says that the cloud did not carry out the request. The next try may succeed.
	Refused
	// Busy is like Refused, and the reason is that something else uses or changes the resource, such as a
	// port that is deleted at the same time. The same request succeeds later.
	Busy
	// Missing says that the resource does not exist.
	Missing
	// Invalid says that the user has to change the spec first.
	Invalid
	// Pending says that the cloud accepted a request that takes a while. [Actuator.Update] returns the
	// resource with a Pending error, and [Kind.Observe] decides whether the resource serves meanwhile.
	Pending
	// Underway is no failure: [Kind.Tasks] work for the object, and requeue the object at the end.
	Underway
)

// Error is an error of an [Actuator] with its [Class].
type Error struct {
	Class Class
	// After is when to try again, from the header Retry-After; zero if the answer has no Retry-After.
	After time.Duration
	// Late says that a [Transient] error came from a proxy that did not wait for the answer. The cloud may
	// still carry out the request.
	Late bool
	// TooMuch says that [Lister.List] exceeded the memory for lists. The engine then reads the resources of
	// the Scope with [Actuator.Get], and does not call List for ten minutes (unlisted in observer.go).
	TooMuch bool
	// Outage says that the API itself fails: no answer in time, an HTTP 5xx of its own, or a request to send
	// less (HTTP 429). After several such errors in a row, the engine calls the place less often (turns.go).
	Outage bool
	// Operation names the operation of a [Pending] error for [Resumer.Resume], in at most maxOperation bytes.
	Operation string
	// Reason is the reason of the condition if [Options.Specific] is set. Reason may be empty.
	Reason string
	// Message is part of the condition.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// IsMissing reports whether err is an [Error] of class [Missing].
func IsMissing(err error) bool { return isClass(err, Missing) }

// IsInvalid reports whether err is an [Error] of class [Invalid].
func IsInvalid(err error) bool { return isClass(err, Invalid) }

// Refs are the resolved references of an object.
type Refs = engine.Refs

// observedTarget returns the entry of status.observedDependencies for a reference, and whether the
// reference has an entry. A target with relation.Once has no entry, because the resource does not use the
// target after the creation. For example, a Server does not use its Image.
func observedTarget(t engine.Target) (sharedv1alpha1.ObservedDependency, bool) {
	d := sharedv1alpha1.ObservedDependency{
		Group: t.ID().Group, Kind: t.ID().Kind, Name: t.ID().Name, ID: t.Value(),
	}
	return d, t.Value() != "" && !t.Relation().Once
}

// isManaged reports whether the operator may change and delete the resource of an object.
func isManaged(obj Object) bool {
	return obj.GetExternalSpec().ManagementPolicy != sharedv1alpha1.PolicyUnmanaged
}

// isDetached reports whether the resource is kept when the object is deleted.
func isDetached(obj Object) bool {
	options := obj.GetExternalSpec().ManagedOptions
	return options != nil && options.OnDelete == sharedv1alpha1.OnDeleteDetach
}

// Named returns edges from an object to the objects of kind target with these names in the same namespace.
// Empty names are skipped.
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
