package emulator

import (
	"slices"
	"strings"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// Style is how ARM tells that a request is carried out after its answer, and when it has ended.
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
	// StateOnly answers tell the provisioningState in the body, and have no header. A DELETE is answered with 202.
	StateOnly
)

// Flow is the course of one request.
type Flow struct {
	Style Style
	// State is the provisioningState until the end, such as Updating.
	State string
	// Takes is the time between the answer and the end. With zero, the request ends with its answer, which still
	// has the header Azure-AsyncOperation if the Style is Async.
	Takes time.Duration
	// RetryAfter is the header of the answer, and PollAfter that of each poll before the end; in seconds.
	RetryAfter, PollAfter int
	// Operation and Result are the paths of the headers Azure-AsyncOperation and Location. Names in
	// braces are replaced: root (the subscription), provider, location, id, name, operation.
	Operation, Result string
}

// ETag is where ARM writes the state's mark of a resource.
type ETag int

const (
	// NoETag is for types without a mark.
	NoETag ETag = iota
	// WeakETag is W/"guid" in the body and in the header of a GET. A resource and its children share
	// the mark.
	WeakETag
	// HeaderETag is "0x8D..." in the header alone.
	HeaderETag
)

// Embedded is a list in the body of a parent that has the children of a type.
type Embedded struct {
	// Property is the name of the list in properties, such as subnets.
	Property string
	// Type is the full type of the children.
	Type string
	// KeptSince is the first api-version in which a PUT without the list keeps the children; empty
	// says that such a PUT deletes the children in all versions.
	KeptSince string
}

// Default are values that ARM adds to a body where the request has none.
type Default struct {
	// Since is the first api-version with these values; empty means all.
	Since string
	// JSON is an object. Names in braces are replaced in its strings: id, name, location, guid, etag,
	// state, time.
	JSON string
}

// InUse is the refusal of a DELETE for the users of a resource.
type InUse struct {
	Status int
	Code   string
}

// Type has the facts about one type of resources.
type Type struct {
	// Name is the full type as ARM spells it, such as Microsoft.Network/virtualNetworks/subnets.
	Name string
	// Versions are the api-versions that ARM accepts; empty means all.
	Versions []string
	// Scopes are where resources of the type can be; empty means everywhere.
	Scopes []azure.Scope
	// Create, Update and Delete are the courses of a PUT for a new and an existing resource, and of a DELETE.
	Create, Update, Delete Flow
	// Embedded are the children in the body.
	Embedded []Embedded
	// Defaults are added to the body.
	Defaults []Default
	ETag     ETag
	// Stateless types have no properties.provisioningState.
	Stateless bool
	// SubObjects says that objects with a name in a list of the body get an id, an etag and a state, as
	// the rules of a load balancer do.
	SubObjects bool
	// NeedsLocation types refuse a body without location.
	NeedsLocation bool
	// InUse is how the deletion of a used resource is refused; nil deletes a used resource.
	InUse *InUse
	// KeepsNested types can't be deleted while they have children.
	KeepsNested bool
	// Exclusive types have one operation at a time among the children of a parent.
	Exclusive bool
	// NamesParent says that a request for a child of a missing parent is answered with
	// ParentResourceNotFound. Otherwise GET and DELETE say ResourceNotFound of the parent.
	NamesParent bool
	// Targets says that a missing reference is NotFound with its id as target, as Compute has it, and
	// not InvalidResourceReference.
	Targets bool
}

// Table tells the facts about types.
type Table interface {
	// Type returns the facts about a full type in any case. It reports false for a type that ARM does
	// not have: requests for such types are refused.
	Type(name string) (Type, bool)
}

// Types is a Table of rows by the lower-case name of the type. Other types get the row of their provider,
// which is the key without a slash, or the row "".
type Types map[string]Type

// Type implements Table.
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

// Known are the facts about a type that a catalogue of types has.
type Known struct {
	Name     string
	Versions []string
	Scopes   []azure.Scope
	// Embedded are the children in the body, without their KeptSince.
	Embedded []Embedded
}

// Restrict returns a Table of the types that a catalogue has. The other facts about a type are those of t. Resource
// groups and deployments exist in any case.
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

// tableFunc is a function as a Table.
type tableFunc func(name string) (Type, bool)

// Type implements Table.
func (f tableFunc) Type(name string) (Type, bool) { return f(name) }

// add adds rows under their own names.
func (t Types) add(rows ...Type) {
	for _, row := range rows {
		t[strings.ToLower(row.Name)] = row
	}
}
