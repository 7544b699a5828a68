package azure

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
)

// Scope is the sort of ID.In(): the part of an id before the last provider.
type Scope int

const (
	// TenantScope is the scope of subscriptions, management groups and /providers/NS/type/name.
	TenantScope Scope = iota
	// ManagementGroupScope is below /providers/Microsoft.Management/managementGroups/NAME.
	ManagementGroupScope
	// SubscriptionScope is below /subscriptions/GUID, as resource groups are.
	SubscriptionScope
	// ResourceGroupScope is below /subscriptions/GUID/resourceGroups/NAME.
	ResourceGroupScope
	// ExtensionScope is below another resource, as a role assignment of a virtual network is.
	ExtensionScope
)

// String returns the name of the [Scope] for messages.
func (s Scope) String() string {
	return [...]string{"tenant", "management group", "subscription", "resource group", "extension"}[s]
}

// Types of the ids that ARM writes without a provider.
const (
	tenantType       = "Microsoft.Resources/tenants"
	subscriptionType = "Microsoft.Resources/subscriptions"
	groupType        = "Microsoft.Resources/resourceGroups"
	managementType   = "Microsoft.Management/managementGroups"
)

// ID is the id of an ARM resource, such as a virtual network, a subscription or a resource group.
// The zero ID is the tenant.
//
// ARM compares ids without regard to case, and so does [ID.Equal]. [ID.Key] is a key for maps. The
// operator == does not compare IDs.
type ID struct {
	id *arm.ResourceID // nil for the tenant
}

// ParseID parses an id strictly: an id as ARM writes it, in any case, with or without a slash at
// the end. ParseID refuses, among others, empty segments, a subscription that is no GUID, a type
// without a name, a query, and characters that ARM allows in no name.
func ParseID(text string) (ID, error) {
	if err := checkID(text); err != nil {
		return ID{}, fmt.Errorf("parse the ARM id %s: %w", quote(text), err)
	}
	id, err := arm.ParseResourceID(text)
	if err != nil {
		return ID{}, fmt.Errorf("parse the ARM id %s: %w", quote(text), err)
	}
	return ID{id}, nil
}

// String returns the text of the id as ARM writes it: "subscriptions", "resourceGroups" and
// "providers" in this case, all other segments as parsed. The text of the tenant is "/".
func (i ID) String() string {
	if i.id == nil {
		return "/"
	}
	return i.id.String()
}

// Key returns a text that is the same for equal ids.
func (i ID) Key() string { return strings.ToLower(i.String()) }

// Equal reports whether both ids name the same resource.
func (i ID) Equal(other ID) bool { return strings.EqualFold(i.String(), other.String()) }

// IsTenant reports whether the id is the tenant.
func (i ID) IsTenant() bool { return i.id == nil }

// Type returns the full type, such as "Microsoft.Network/virtualNetworks/subnets". A subscription,
// a resource group and the tenant have types of the provider Microsoft.Resources.
func (i ID) Type() string {
	if i.id == nil {
		return tenantType
	}
	return i.id.ResourceType.String()
}

// Provider returns the namespace of the type, such as "Microsoft.Network".
func (i ID) Provider() string {
	provider, _, _ := strings.Cut(i.Type(), "/")
	return provider
}

// Name returns the last segment.
func (i ID) Name() string {
	if i.id == nil {
		return ""
	}
	return i.id.Name
}

// Names returns the names of the resource and of its parents within the scope, the outermost first:
// net and subnet for a subnet.
func (i ID) Names() []string {
	if i.id == nil {
		return nil
	}
	_, types, _ := strings.Cut(i.Type(), "/")
	names := make([]string, strings.Count(types, "/")+1)
	for at, n := i, len(names)-1; n >= 0; at, n = at.Parent(), n-1 {
		names[n] = at.Name()
	}
	return names
}

// Subscription returns the GUID of the subscription, or "" outside of subscriptions.
func (i ID) Subscription() string {
	if i.id == nil {
		return ""
	}
	return i.id.SubscriptionID
}

// ResourceGroup returns the name of the resource group, or "" outside of resource groups.
func (i ID) ResourceGroup() string {
	if i.id == nil {
		return ""
	}
	return i.id.ResourceGroupName
}

// Parent returns the id of the parent: the virtual network of a subnet, the resource group of a
// virtual network, the subscription of a resource group, the resource that an extension extends, or
// the tenant. The tenant is its own Parent.
func (i ID) Parent() ID {
	if i.id == nil || isRoot(i.id.Parent) {
		return ID{}
	}
	return ID{i.id.Parent}
}

// In returns the id of the scope: for a subnet, the id of the resource group.
func (i ID) In() ID {
	in := i.Parent()
	for IsChildType(i.Type(), in.Type()) {
		i, in = in, in.Parent()
	}
	return in
}

// Scope returns the [Scope] of the id.
func (i ID) Scope() Scope {
	in := i.In()
	switch {
	case in.IsTenant():
		return TenantScope
	case strings.EqualFold(in.Type(), subscriptionType):
		return SubscriptionScope
	case strings.EqualFold(in.Type(), groupType):
		return ResourceGroupScope
	case strings.EqualFold(in.Type(), managementType):
		return ManagementGroupScope
	default:
		return ExtensionScope
	}
}

// IsWithin reports whether a resource is in another resource, such as a virtual network in its
// resource group.
func IsWithin(id, other string) bool {
	inner, err := ParseID(id)
	outer, failed := ParseID(other)
	return err == nil && failed == nil && inner.Within(outer)
}

// Within reports whether the id is below an ancestor, or is the ancestor.
func (i ID) Within(ancestor ID) bool {
	for at := i; ; at = at.Parent() {
		if at.Equal(ancestor) {
			return true
		}
		if at.IsTenant() {
			return false
		}
	}
}

// Child builds the id of a resource in i. The parameter typ is a full type: of a child, such as a
// subnet of a virtual network, of a resource in a scope, such as a virtual network in a resource
// group, or of an extension.
func (i ID) Child(typ, name string) (ID, error) {
	text, err := i.childText(typ, name)
	if err != nil {
		return ID{}, fmt.Errorf("build the ARM id of %s %s in %s: %w", quote(typ), quote(name), i, err)
	}
	return ParseID(text)
}

func (i ID) childText(typ, name string) (string, error) {
	if err := errors.Join(checkType(typ), checkName(name)); err != nil {
		return "", err
	}
	base := strings.TrimSuffix(i.String(), "/")
	provider, types, _ := strings.Cut(typ, "/")
	at := strings.LastIndexByte(typ, '/') + 1
	switch {
	case strings.EqualFold(typ, subscriptionType):
		return base + "/subscriptions/" + name, i.only(tenantType)
	case strings.EqualFold(typ, groupType):
		return base + "/resourceGroups/" + name, i.only(subscriptionType)
	case IsChildType(typ, i.Type()):
		return base + "/" + typ[at:] + "/" + name, nil
	case strings.Contains(types, "/"):
		return "", fmt.Errorf("its owner must be a %s, not a %s", typ[:at-1], i.Type())
	default:
		return base + "/providers/" + provider + "/" + types + "/" + name, nil
	}
}

func (i ID) only(typ string) error {
	if strings.EqualFold(i.Type(), typ) {
		return nil
	}
	return fmt.Errorf("its owner must be a %s, not a %s", typ, i.Type())
}

// IsChildType reports whether a full type is one level below another type:
// Microsoft.Network/virtualNetworks/subnets is a child of Microsoft.Network/virtualNetworks.
func IsChildType(typ, parent string) bool {
	at := strings.LastIndexByte(typ, '/')
	return at > 0 && strings.Contains(parent, "/") && strings.EqualFold(typ[:at], parent)
}

// MarshalText implements encoding.TextMarshaler.
func (i ID) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, by [ParseID].
func (i *ID) UnmarshalText(text []byte) error {
	if string(text) == "/" {
		*i = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*i = parsed
	return nil
}

func isRoot(id *arm.ResourceID) bool { return id == nil || id.Parent == nil }
