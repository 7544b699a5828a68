package openstack

import "github.com/kinship-dev/kinship/internal/gen/emit"

// Kind is a kind of openstack.k-orc.cloud.
type Kind struct {
	// Name of the kind and of its Go type.
	Name string
	// Noun with its article, such as "a floating IP" for FloatingIP.
	Noun string
	// Doc is the description of the kind after Name: "is a port of a Network."
	Doc string
	// Identity tells how an existing resource is found.
	Identity Identity
	// Column is a printer column besides ID, Available and Message.
	Column *Column
	// Unnamed kinds have no spec.resource.name and no GetResourceName.
	Unnamed bool
	// SpecMarkers of the spec.
	SpecMarkers []string
	// StatusFields follow the fields of every status, such as downloadAttempts of an Image.
	StatusFields []emit.Field
}

// Identity tells how an existing resource is found.
type Identity int

const (
	// ByUUID finds a resource by a UUID or a filter.
	ByUUID Identity = iota
	// ByText finds a resource by an id that is a text (KeyPair), or by a filter.
	ByText
	// ByFilter finds a resource without an id (RoleAssignment) by a filter.
	ByFilter
	// ByHand leaves spec, status, GetExternalSpec and GetImport to a hand-written file
	// (RouterInterface).
	ByHand
)

// Column is a printer column.
type Column struct {
	Name, Path string
}

// Kinds is the table of all kinds, by name.
var Kinds = []Kind{
	{Name: "AddressScope", Noun: "an address scope", Doc: "is a scope in which IP addresses are unique."},
	{
		Name: "ApplicationCredential", Noun: "an application credential",
		Doc: "is a secret with which a program acts for a User, with some of the User's Roles.",
	},
	{Name: "Domain", Noun: "a domain", Doc: "is a domain of the identity service."},
	{Name: "Endpoint", Noun: "an endpoint", Doc: "is an address of a Service.", Unnamed: true},
	{Name: "Flavor", Noun: "a flavor", Doc: "is a size of servers."},
	{
		Name: "FloatingIP", Noun: "a floating IP", Doc: "is an external address that leads to a Port.", Unnamed: true,
		Column: &Column{"Address", ".status.resource.floatingIP"},
	},
	{Name: "Group", Noun: "a group", Doc: "is a group of users."},
	{
		Name: "Image", Noun: "an image", Doc: "is the content that disks of servers are created from.",
		SpecMarkers: []string{
			rule(`!has(self.__import__) ? has(self.resource.content) : true`,
				`resource content must be specified when not importing`),
		},
		StatusFields: []emit.Field{{
			Name: "DownloadAttempts", Type: "*int32", JSON: "downloadAttempts,omitempty", Markers: optional,
			Doc: "DownloadAttempts is how often a download of the content was started.",
		}},
	},
	{Name: "KeyPair", Noun: "a key pair", Doc: "is a public key that servers accept for logins.", Identity: ByText},
	{Name: "Network", Noun: "a network", Doc: "is a network of the network service."},
	{
		Name: "Port", Noun: "a port", Doc: "is a port of a Network.",
		Column: &Column{"Addresses", ".status.resource.fixedIPs[*].ip"},
	},
	{Name: "Project", Noun: "a project", Doc: "is a project of the identity service."},
	{Name: "Role", Noun: "a role", Doc: "is a role that users can have."},
	{
		Name: "RoleAssignment", Noun: "a role assignment", Doc: "gives a user or a group a role on a project or a domain.",
		Identity: ByFilter, Unnamed: true,
	},
	{Name: "Router", Noun: "a router", Doc: "is a router between networks."},
	{
		Name: "RouterInterface", Doc: "connects a Subnet to a Router, with the credentials of the Router.",
		Identity: ByHand, Unnamed: true,
	},
	{
		Name: "SecurityGroup", Noun: "a security group", Doc: "is a group of rules for the traffic of Ports. " +
			"Its rules are authoritative: a rule that is not listed is removed.",
	},
	{Name: "Server", Noun: "a server", Doc: "is a virtual machine."},
	{Name: "ServerGroup", Noun: "a server group", Doc: "is a rule for the placement of Servers."},
	{Name: "Service", Noun: "a service", Doc: "is an entry of the service catalog."},
	{Name: "ShareNetwork", Noun: "a share network", Doc: "is the network that shares are reached from."},
	{Name: "Subnet", Noun: "a subnet", Doc: "is an address range of a Network."},
	{Name: "Trunk", Noun: "a trunk", Doc: "is a port that carries the traffic of other ports."},
	{Name: "User", Noun: "a user", Doc: "is a person or a program that can log in."},
	{Name: "Volume", Noun: "a volume", Doc: "is a disk."},
	{Name: "VolumeType", Noun: "a volume type", Doc: "is a sort of volumes."},
}
