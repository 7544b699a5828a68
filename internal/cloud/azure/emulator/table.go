package emulator

import (
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Style says by which headers ARM announces that a request is carried out after its answer.
type Style int

const (
	// Sync requests are carried out with their answer.
	Sync Style = iota
	// Async answers have a body and the header Azure-AsyncOperation.
	Async
	// AsyncLocation answers have the headers Azure-AsyncOperation and Location, and no body.
	AsyncLocation
	// LocationOnly answers are 202 with the header Location, and no body.
	LocationOnly
	// StateOnly answers have the provisioningState in the body, and no header. A DELETE is answered
	// with 202.
	StateOnly
)

// Flow is the course of a request.
type Flow struct {
	Style Style
	// State is the provisioningState until the end, such as Updating.
	State string
	// Takes is the time between the answer and the end. With zero, the request ends with its
	// answer, which with [Async] still has the header Azure-AsyncOperation.
	Takes time.Duration
	// RetryAfter is the header Retry-After of the answer in seconds, and PollAfter the header
	// Retry-After of each poll before the end.
	RetryAfter, PollAfter int
	// Operation and Result are the paths in the headers Azure-AsyncOperation and Location. The
	// emulator replaces {root} (the subscription), {provider}, {location}, {id}, {name} and
	// {operation}.
	Operation, Result string
}

// ETag says where ARM writes the etag of a resource.
type ETag int

const (
	// NoETag is for types without an etag.
	NoETag ETag = iota
	// WeakETag is W/"guid" in the body and in the header of a GET. A resource and its children
	// share the guid.
	WeakETag
	// HeaderETag is "0x8D..." in the header only.
	HeaderETag
)

// Embedded is a list in the body of a parent with the children of a type.
type Embedded struct {
	// Property is the name of the list in properties, such as subnets.
	Property string
	// Type is the full type of the children.
	Type string
	// KeptSince is the first api-version in which a PUT without the list keeps the children. With
	// an empty KeptSince, such a PUT deletes the children in all versions.
	KeptSince string
}

// Default has values that ARM adds to a body without these values.
type Default struct {
	// Since is the first api-version with these values; empty means all.
	Since string
	// JSON is an object. In its strings, the emulator replaces {id}, {name}, {location}, {guid} and
	// {time}.
	JSON string
}

// Exclusion is how ARM refuses a change of a resource while a sibling is changed.
type Exclusion int

const (
	// Shared types have no such refusal.
	Shared Exclusion = iota
	// Conflicting types answer 409 with AnotherOperationInProgress.
	Conflicting
	// Retryable types answer 429 with RetryableErrorDueToAnotherOperation.
	Retryable
	// Serving types answer 409 with Conflict, as a service that carries out one request after another.
	Serving
)

// InUse is the refusal of a DELETE because other resources use the resource.
type InUse struct {
	Status int
	Code   string
}

// Type has the facts about a type of resources.
type Type struct {
	// Name is the full type as ARM spells the type, such as
	// Microsoft.Network/virtualNetworks/subnets.
	Name string
	// Versions are the api-versions that ARM accepts; empty means all.
	Versions []string
	// Scopes are the scopes in which resources of the type can be; empty means every [azure.Scope].
	Scopes []azure.Scope
	// Create, Update and Delete are the courses of a PUT for a new resource, of a PUT for an
	// existing resource, and of a DELETE.
	Create, Update, Delete Flow
	// Embedded are the children in the body.
	Embedded []Embedded
	// Defaults are added to the body.
	Defaults []Default
	ETag     ETag
	// Stateless types have no properties.provisioningState.
	Stateless bool
	// SubObjects says that objects with a name in a list of the body get an id, an etag and a
	// provisioningState, as loadBalancingRules do.
	SubObjects bool
	// NeedsLocation types refuse a body without location.
	NeedsLocation bool
	// InUse is the refusal of the deletion of a used resource; with nil, a used resource can be
	// deleted.
	InUse *InUse
	// KeepsNested types can't be deleted while the resource has children.
	KeepsNested bool
	// Exclusive types allow only one running operation among a parent and its children of such types.
	Exclusive Exclusion
	// NamesParent says that ARM answers a request for a child of a missing parent with
	// ParentResourceNotFound. Otherwise ARM answers GET and DELETE with ResourceNotFound for the
	// parent.
	NamesParent bool
	// Targets says that ARM answers NotFound, with the id as target, for a missing reference, as
	// Microsoft.Compute does, and not InvalidResourceReference.
	Targets bool
}

// Table has the facts about types.
type Table interface {
	// Type returns the facts about a full type in any case. Type returns false for a type that ARM
	// does not have: the emulator refuses requests for such a type.
	Type(name string) (Type, bool)
}

// Types is a [Table] of rows by the lower-case name of the type. A type without a row gets the row
// of its provider, such as microsoft.network, or the row "".
type Types map[string]Type

// Type implements [Table].
func (t Types) Type(name string) (Type, bool) {
	key := strings.ToLower(name)
	provider, _, _ := strings.Cut(key, "/")
	for _, one := range []string{key, provider, ""} {
		if row, ok := t[one]; ok {
			if row.Name == "" {
				row.Name = name
			}
			return row, true
		}
	}
	return Type{}, false
}

// Known has the facts about a type that a catalogue of types has.
type Known struct {
	Name     string
	Versions []string
	Scopes   []azure.Scope
	// Embedded are the children in the body, without Embedded.KeptSince.
	Embedded []Embedded
}

// Restrict returns a [Table] of only the types in a catalogue. The other facts about a type are
// those of t. Resource groups and deployments always exist.
func (t Types) Restrict(find func(name string) (Known, bool)) Table {
	return tableFunc(func(name string) (Type, bool) {
		row, _ := t.Type(name)
		known, ok := find(name)
		if !ok {
			own := strings.EqualFold(name, resourceGroup.Name) || strings.EqualFold(name, deploymentType)
			return row, own
		}
		row.Name, row.Versions, row.Scopes = known.Name, known.Versions, known.Scopes
		for _, one := range known.Embedded {
			if !slices.ContainsFunc(row.Embedded, func(other Embedded) bool { return other.Property == one.Property }) {
				row.Embedded = append(slices.Clip(row.Embedded), one)
			}
		}
		return row, true
	})
}

// tableFunc is a function as a [Table].
type tableFunc func(name string) (Type, bool)

// Type implements [Table].
func (f tableFunc) Type(name string) (Type, bool) { return f(name) }

// add adds rows under their own names.
func (t Types) add(rows ...Type) {
	for _, row := range rows {
		t[strings.ToLower(row.Name)] = row
	}
}
