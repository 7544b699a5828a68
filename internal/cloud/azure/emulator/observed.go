package emulator

import (
	"maps"
	"net/http"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// short and long are values of Flow.Takes, which Options.BuildTime replaces.
const (
	short = 50 * time.Millisecond
	long  = 200 * time.Millisecond
)

// Paths of operations.
const (
	operations       = "{root}/providers/{provider}/locations/{location}/operations/{operation}"
	operationResults = "{root}/providers/{provider}/locations/{location}/operationResults/{operation}"
)

const network = "Microsoft.Network"

// Observed returns the types as recordings of ARM show. Types of Microsoft.Network and
// Microsoft.Compute without a recording behave as their siblings; all other types are [Sync].
func Observed() Types {
	types := Types{
		"": {},
		"microsoft.network": networkType(Type{
			Create: networkCreate(3), Update: networkUpdate, Delete: networkDelete(10), NeedsLocation: false,
		}),
		"microsoft.compute":                 compute,
		"microsoft.authorization":           {Stateless: true},
		"microsoft.eventgrid":               {NamesParent: true},
		"microsoft.insights":                {NamesParent: true},
		"microsoft.communication":           {NamesParent: true},
		"microsoft.containerservice":        {NamesParent: true},
		"microsoft.batch/batchaccounts":     batchAccount,
		"microsoft.storage/storageaccounts": storageAccount,
	}
	types.add(resourceGroup)
	types.add(networkTypes()...)
	types.add(redisType("accessPolicies"), redisType("accessPolicyAssignments"))
	return types
}

// redisType is a type of children of a Redis cache, which carries out one change after another.
func redisType(name string) Type {
	flow := Flow{Style: Async, State: "Updating", Takes: short, RetryAfter: 3, Operation: operations}
	return Type{
		Name: "Microsoft.Cache/redis/" + name, Create: flow, Update: flow, Exclusive: Serving,
		Delete: Flow{
			Style: AsyncLocation, State: "Deleting", Takes: short, RetryAfter: 3, Operation: operations,
			Result: operationResults,
		},
	}
}

var resourceGroup = Type{
	Name: "Microsoft.Resources/resourceGroups", Scopes: []azure.Scope{azure.SubscriptionScope}, NeedsLocation: true,
	Delete: Flow{
		Style: LocationOnly, State: "Deleting", Takes: long, RetryAfter: 15, PollAfter: 15,
		Result: "{root}/operationresults/{name}",
	},
}

// networkCreate is the [Flow] of a PUT that creates a resource of Microsoft.Network.
func networkCreate(retryAfter int) Flow {
	return Flow{Style: Async, State: "Updating", Takes: short, RetryAfter: retryAfter, Operation: operations}
}

// networkUpdate is the [Flow] of a PUT that changes a top-level resource: the PUT ends at once,
// although its answer names an operation.
var networkUpdate = Flow{Style: Async, State: "Updating", Operation: operations}

func networkDelete(retryAfter int) Flow {
	return Flow{
		Style: AsyncLocation, State: "Deleting", Takes: short, RetryAfter: retryAfter, Operation: operations,
		Result: operationResults,
	}
}

// networkType adds the common facts of all types of Microsoft.Network.
func networkType(t Type) Type {
	t.ETag, t.SubObjects = WeakETag, true
	return t
}

// cannotBeDeleted is the refusal of Microsoft.Network for a resource in use.
func cannotBeDeleted(code string) *InUse { return &InUse{http.StatusBadRequest, code} }

// topLevel is a type of Microsoft.Network in a resource group.
func topLevel(name string, retryAfter, deleteAfter int, t Type) Type {
	t.Name, t.NeedsLocation = network+"/"+name, true
	t.Create, t.Update, t.Delete = networkCreate(retryAfter), networkUpdate, networkDelete(deleteAfter)
	t.Defaults = append([]Default{{JSON: `{"properties": {"resourceGuid": "{guid}"}}`}}, t.Defaults...)
	return networkType(t)
}

// child is a type of Microsoft.Network in a parent, such as virtualNetworks/subnets. An update
// takes time as well.
func child(name string, retryAfter, deleteAfter int, t Type) Type {
	t.Name = network + "/" + name
	t.Create, t.Delete = networkCreate(retryAfter), networkDelete(deleteAfter)
	t.Update = t.Create
	return networkType(t)
}

func networkTypes() []Type {
	return []Type{
		topLevel("virtualNetworks", 3, 10, Type{
			Embedded: []Embedded{
				{"subnets", network + "/virtualNetworks/subnets", "2023-09-01"},
				{"virtualNetworkPeerings", network + "/virtualNetworks/virtualNetworkPeerings", "2023-09-01"},
			},
			Defaults: []Default{
				{JSON: `{"properties": {"enableDdosProtection": false}}`},
				{Since: "2023-11-01", JSON: `{"properties": {"privateEndpointVNetPolicies": "Disabled"}}`},
			},
		}),
		child("virtualNetworks/subnets", 3, 10, Type{
			Exclusive: Conflicting,
			InUse:     cannotBeDeleted("InUseSubnetCannotBeDeleted"),
			Defaults: []Default{
				{JSON: `{"properties": {"delegations": [], "privateLinkServiceNetworkPolicies": "Enabled",
					"privateEndpointNetworkPolicies": "Disabled"}}`},
			},
		}),
		child("virtualNetworks/virtualNetworkPeerings", 3, 10, Type{Exclusive: Conflicting}),
		topLevel("routeTables", 2, 10, Type{
			InUse:    cannotBeDeleted("InUseRouteTableCannotBeDeleted"),
			Embedded: []Embedded{{"routes", network + "/routeTables/routes", ""}},
			Defaults: []Default{{JSON: `{"properties": {"disableBgpRoutePropagation": false}}`}},
		}),
		child("routeTables/routes", 2, 10, Type{
			Exclusive: Retryable,
			Defaults:  []Default{{JSON: `{"properties": {"hasBgpOverride": false}}`}},
		}),
		topLevel("networkSecurityGroups", 1, 1, Type{
			InUse:    cannotBeDeleted("InUseNetworkSecurityGroupCannotBeDeleted"),
			Embedded: []Embedded{{"securityRules", network + "/networkSecurityGroups/securityRules", ""}},
			Defaults: defaultSecurityRules(),
		}),
		child("networkSecurityGroups/securityRules", 1, 1, Type{Defaults: []Default{{JSON: `{"properties": ` +
			ruleLists + `}`}}}),
		topLevel("publicIPAddresses", 3, 10, Type{
			InUse: cannotBeDeleted("PublicIPAddressCannotBeDeleted"),
			Defaults: []Default{{JSON: `{"properties": {"publicIPAddressVersion": "IPv4", "ipTags": [],
				"publicIPAllocationMethod": "Dynamic", "idleTimeoutInMinutes": 4}, "sku": {"name": "Basic"}}`}},
		}),
		topLevel("networkInterfaces", 3, 10, Type{
			InUse: cannotBeDeleted("NicInUse"),
			Defaults: []Default{{JSON: `{"properties": {"enableAcceleratedNetworking": false,
				"enableIPForwarding": false, "hostedWorkloads": []}}`}},
		}),
		topLevel("loadBalancers", 3, 10, Type{
			Embedded: []Embedded{{"inboundNatRules", network + "/loadBalancers/inboundNatRules", ""}},
		}),
		child("loadBalancers/inboundNatRules", 3, 10, Type{}),
		topLevel("natGateways", 3, 10, Type{InUse: cannotBeDeleted("InUseNatGatewayCannotBeDeleted")}),
		topLevel("publicIPPrefixes", 3, 10, Type{InUse: cannotBeDeleted("InUsePublicIpPrefixCannotBeDeleted")}),
		topLevel("privateDnsZones", 3, 10, Type{KeepsNested: true}),
	}
}

// ruleLists are lists that ARM adds to each security rule.
const ruleLists = `{"sourcePortRanges": [], "destinationPortRanges": [], "sourceAddressPrefixes": [],
	"destinationAddressPrefixes": []}`

// defaultSecurityRules are the rules that each network security group has.
func defaultSecurityRules() []Default {
	rule := func(name, from, to, access, direction, priority string) string {
		return `{"name": "` + name + `", "properties": {"description": "` + name + `", "protocol": "*",
			"sourcePortRange": "*", "destinationPortRange": "*", "sourceAddressPrefix": "` + from + `",
			"destinationAddressPrefix": "` + to + `", "access": "` + access + `", "direction": "` + direction + `",
			"priority": ` + priority + `, "sourcePortRanges": [], "destinationPortRanges": [],
			"sourceAddressPrefixes": [], "destinationAddressPrefixes": []}}`
	}
	return []Default{{JSON: `{"properties": {"defaultSecurityRules": [` +
		rule("AllowVnetInBound", "VirtualNetwork", "VirtualNetwork", "Allow", "Inbound", "65000") + "," +
		rule("AllowAzureLoadBalancerInBound", "AzureLoadBalancer", "*", "Allow", "Inbound", "65001") + "," +
		rule("DenyAllInBound", "*", "*", "Deny", "Inbound", "65500") + "," +
		rule("AllowVnetOutBound", "VirtualNetwork", "VirtualNetwork", "Allow", "Outbound", "65000") + "," +
		rule("AllowInternetOutBound", "*", "Internet", "Allow", "Outbound", "65001") + "," +
		rule("DenyAllOutBound", "*", "*", "Deny", "Outbound", "65500") + `]}}`}}
}

var compute = Type{
	Create: Flow{
		Style: Async, State: "Creating", Takes: long, RetryAfter: 10, PollAfter: 30,
		Operation: "{root}/providers/{provider}/locations/{location}/operations/{operation}",
	},
	Update: Flow{
		Style: Async, State: "Updating", Takes: short, RetryAfter: 10, PollAfter: 30,
		Operation: "{root}/providers/{provider}/locations/{location}/operations/{operation}",
	},
	Delete: Flow{
		Style: AsyncLocation, State: "Deleting", Takes: short, RetryAfter: 10, PollAfter: 30,
		Operation: operations, Result: operations,
	},
	Targets: true,
}

var batchAccount = Type{
	Name: "Microsoft.Batch/batchAccounts", NeedsLocation: true, ETag: HeaderETag,
	Create: Flow{
		Style: LocationOnly, State: "Creating", Takes: long, RetryAfter: 15, PollAfter: 15,
		Result: "{id}/operationResults/{operation}",
	},
	Delete: Flow{
		Style: LocationOnly, State: "Deleting", Takes: short, RetryAfter: 15, PollAfter: 15,
		Result: "{root}/providers/{provider}/locations/{location}/accountOperationResults/{name}-{operation}",
	},
	Defaults: []Default{{JSON: `{"identity": {"type": "None"}, "properties": {
		"accountEndpoint": "{name}.{location}.batch.azure.com", "dedicatedCoreQuota": 0,
		"dedicatedCoreQuotaPerVMFamily": [{"name": "standardDv3Family", "coreQuota": 0}],
		"dedicatedCoreQuotaPerVMFamilyEnforced": true, "lowPriorityCoreQuota": 0, "poolQuota": 100,
		"activeJobAndJobScheduleQuota": 300, "poolAllocationMode": "BatchService", "publicNetworkAccess": "Enabled",
		"privateEndpointConnections": [], "encryption": {"keySource": "Microsoft.Batch"}}}`}},
}

var storageAccount = Type{
	Name: "Microsoft.Storage/storageAccounts", NeedsLocation: true,
	Create: Flow{
		Style: LocationOnly, State: "Creating", Takes: long, RetryAfter: 17, PollAfter: 17,
		Result: "{root}/providers/{provider}/locations/{location}/asyncoperations/{operation}?monitor=true",
	},
	Defaults: []Default{{JSON: `{"sku": {"tier": "Standard"}, "tags": {}, "properties": {
		"keyCreationTime": {"key1": "{time}", "key2": "{time}"}, "privateEndpointConnections": [],
		"networkAcls": {"bypass": "AzureServices", "virtualNetworkRules": [], "ipRules": [], "defaultAction": "Allow"},
		"supportsHttpsTrafficOnly": true, "encryption": {"keySource": "Microsoft.Storage", "services": {
			"file": {"keyType": "Account", "enabled": true, "lastEnabledTime": "{time}"},
			"blob": {"keyType": "Account", "enabled": true, "lastEnabledTime": "{time}"}}},
		"creationTime": "{time}", "primaryLocation": "{location}", "statusOfPrimary": "available",
		"primaryEndpoints": {
			"dfs": "https://{name}.dfs.core.windows.net/", "web": "https://{name}.z5.web.core.windows.net/",
			"blob": "https://{name}.blob.core.windows.net/", "queue": "https://{name}.queue.core.windows.net/",
			"table": "https://{name}.table.core.windows.net/", "file": "https://{name}.file.core.windows.net/"}}}`}},
}

// Clone returns a copy of [Types] whose rows can be changed.
func (t Types) Clone() Types { return maps.Clone(t) }
