package openstack

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/addressscope"
	"github.com/kinship-dev/kinship/internal/pack/openstack/applicationcredential"
	"github.com/kinship-dev/kinship/internal/pack/openstack/domain"
	"github.com/kinship-dev/kinship/internal/pack/openstack/endpoint"
	"github.com/kinship-dev/kinship/internal/pack/openstack/flavor"
	"github.com/kinship-dev/kinship/internal/pack/openstack/floatingip"
	"github.com/kinship-dev/kinship/internal/pack/openstack/group"
	"github.com/kinship-dev/kinship/internal/pack/openstack/image"
	"github.com/kinship-dev/kinship/internal/pack/openstack/keypair"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/pack/openstack/network"
	"github.com/kinship-dev/kinship/internal/pack/openstack/port"
	"github.com/kinship-dev/kinship/internal/pack/openstack/project"
	"github.com/kinship-dev/kinship/internal/pack/openstack/role"
	"github.com/kinship-dev/kinship/internal/pack/openstack/roleassignment"
	"github.com/kinship-dev/kinship/internal/pack/openstack/router"
	"github.com/kinship-dev/kinship/internal/pack/openstack/securitygroup"
	"github.com/kinship-dev/kinship/internal/pack/openstack/server"
	"github.com/kinship-dev/kinship/internal/pack/openstack/servergroup"
	"github.com/kinship-dev/kinship/internal/pack/openstack/service"
	"github.com/kinship-dev/kinship/internal/pack/openstack/sharenetwork"
	"github.com/kinship-dev/kinship/internal/pack/openstack/subnet"
	"github.com/kinship-dev/kinship/internal/pack/openstack/trunk"
	"github.com/kinship-dev/kinship/internal/pack/openstack/user"
	"github.com/kinship-dev/kinship/internal/pack/openstack/volume"
	"github.com/kinship-dev/kinship/internal/pack/openstack/volumetype"
	"github.com/kinship-dev/kinship/pkg/external"
)

// zeroes has the status for an empty, or nearly empty, answer.
type zeroes struct {
	kind string
	// observe returns status.resource of an object as JSON, and the Go type of that.
	observe func(fields map[string]any) (shown map[string]any, of reflect.Type)
	// shown are the fields that are there, with the zero values of their types, although
	// OpenStack says null, or nothing.
	shown string
	// hidden are the fields that are left out then.
	hidden string
	// unsaid has OpenStack's names of fields that differ from the status's names.
	unsaid string
	// zero are values that OpenStack says and that are left out nevertheless.
	zero map[string]any
	// said is an answer with empty items in its lists, and items their status.
	said, items map[string]any
}

// reported observes an answer of OpenStack for an empty object of a kind.
func reported[K external.Object](
	of func(*kit.Connector) external.Kind[K, *kit.Resource],
) func(map[string]any) (map[string]any, reflect.Type) {
	k := of(&kit.Connector{Clouds: openstack.New(openstack.Options{})})
	return func(fields map[string]any) (map[string]any, reflect.Type) {
		obj := reflect.New(reflect.TypeFor[K]().Elem())
		k.Observe(obj.Interface().(K), &kit.Resource{Fields: fields})
		resource := obj.Elem().FieldByName("Status").FieldByName("Resource")
		text, err := json.Marshal(resource.Interface())
		shown := map[string]any{}
		if err == nil {
			err = json.Unmarshal(text, &shown)
		}
		if err != nil {
			panic(err)
		}
		return shown, resource.Type().Elem()
	}
}

// tabled is reported for a kind that its Table describes completely.
func tabled[K kit.Credentialed](table *kit.Table[K]) func(map[string]any) (map[string]any, reflect.Type) {
	return reported(func(c *kit.Connector) external.Kind[K, *kit.Resource] { return kit.Kind(c, table) })
}

type answer = map[string]any

// zeroTable has a row for each kind except RouterInterface, which reports no resource. Shown
// and omitted fields are as in the published operator: it shows the fields that its status
// writers set without a condition.
var zeroTable = []zeroes{
	{kind: "Domain", observe: tabled(&domain.Table), shown: "name enabled", hidden: "description"},
	{kind: "Project", observe: tabled(&project.Table), shown: "name domainID enabled", hidden: "description tags"},
	{
		kind: "User", observe: tabled(&user.Table), shown: "name domainID enabled",
		hidden: "description defaultProjectID passwordExpiresAt appliedPasswordRef",
	},
	{kind: "Group", observe: tabled(&group.Table), shown: "name domainID", hidden: "description"},
	{kind: "Role", observe: tabled(&role.Table), shown: "name domainID", hidden: "description"},
	{kind: "RoleAssignment", observe: reported(roleassignment.New), hidden: "roleID userID groupID projectID domainID"},
	{kind: "Service", observe: tabled(&service.Table), shown: "name type enabled", hidden: "description"},
	{kind: "Endpoint", observe: tabled(&endpoint.Table), shown: "serviceID enabled interface url", hidden: "description"},
	{
		kind: "ApplicationCredential", observe: reported(applicationcredential.New), shown: "name unrestricted projectID",
		hidden: "description expiresAt roles accessRules",
		said:   answer{"roles": []any{answer{}}, "access_rules": []any{answer{}}},
		items: answer{
			"roles":       []any{answer{"id": "", "name": ""}},
			"accessRules": []any{answer{"id": "", "path": "", "method": "", "service": ""}},
		},
	},
	{
		kind: "Network", observe: tabled(&network.Table),
		shown:  "name adminStateUp status projectID revisionNumber external mtu portSecurityEnabled shared",
		hidden: "description dnsDomain provider tags subnets availabilityZoneHints createdAt updatedAt",
		unsaid: "router:external provider:network_type provider:physical_network provider:segmentation_id",
		said:   answer{"provider:network_type": "local", "provider:physical_network": nil, "provider:segmentation_id": nil},
		items:  answer{"provider": answer{"networkType": "local", "physicalNetwork": ""}},
	},
	{
		kind: "Subnet", observe: reported(subnet.New),
		shown: "name ipVersion cidr gatewayIP dnsPublishFixedIP enableDHCP networkID projectID revisionNumber",
		hidden: "description ipv6AddressMode ipv6RAMode subnetPoolID tags dnsNameservers allocationPools hostRoutes " +
			"createdAt updatedAt",
		unsaid: "dns_publish_fixed_ip subnetpool_id",
		said:   answer{"allocation_pools": []any{answer{}}, "host_routes": []any{answer{}}},
		items: answer{
			"allocationPools": []any{answer{"start": "", "end": ""}},
			"hostRoutes":      []any{answer{"destination": "", "nextHop": ""}},
		},
	},
	{
		kind: "Router", observe: tabled(&router.Table), shown: "name projectID status adminStateUp",
		hidden: "description tags availabilityZoneHints externalGateways", unsaid: "external_gateway_info",
		zero: answer{"external_gateway_info": answer{"network_id": ""}},
	},
	{
		kind: "Port", observe: tabled(&port.Table),
		shown: "name adminStateUp macAddress status projectID networkID propagateUplinkStatus vnicType portSecurityEnabled " +
			"revisionNumber",
		hidden: "description deviceID deviceOwner hostID trustedVIF tags securityGroups allowedAddressPairs fixedIPs " +
			"createdAt updatedAt",
		unsaid: "binding:vnic_type binding:host_id trusted",
		zero:   answer{"binding:host_id": ""},
		said:   answer{"allowed_address_pairs": []any{answer{}}, "fixed_ips": []any{answer{}}},
		items: answer{
			"allowedAddressPairs": []any{answer{"ip": "", "mac": ""}}, "fixedIPs": []any{answer{"ip": "", "subnetID": ""}},
		},
	},
	{
		kind: "Trunk", observe: tabled(&trunk.Table), shown: "name projectID portID adminStateUp revisionNumber",
		hidden: "description status tags subports createdAt updatedAt", unsaid: "sub_ports",
		said:  answer{"sub_ports": []any{answer{}}},
		items: answer{"subports": []any{answer{"portID": "", "segmentationID": 0.0, "segmentationType": ""}}},
	},
	{
		kind: "SecurityGroup", observe: tabled(&securitygroup.Table), shown: "name projectID stateful revisionNumber",
		hidden: "description tags rules createdAt updatedAt", unsaid: "security_group_rules",
		said: answer{"security_group_rules": []any{
			answer{"protocol": nil, "port_range_min": nil, "port_range_max": nil},
			answer{"protocol": "icmp", "port_range_min": 8.0, "port_range_max": nil},
			answer{"protocol": "icmp", "port_range_min": 0.0, "port_range_max": 0.0},
		}},
		items: answer{"rules": []any{
			emptyRule(answer{}), emptyRule(answer{"protocol": "icmp", "portRange": answer{"min": 8.0, "max": 0.0}}),
			emptyRule(answer{"protocol": "icmp"}),
		}},
	},
	{
		kind: "FloatingIP", observe: tabled(&floatingip.Table),
		shown:  "floatingNetworkID portID projectID status routerID fixedIP floatingIP revisionNumber",
		hidden: "description tags createdAt updatedAt", unsaid: "floating_ip_address fixed_ip_address",
	},
	{kind: "AddressScope", observe: tabled(&addressscope.Table), shown: "name projectID shared ipVersion"},
	{
		kind: "Image", observe: reported(image.New), shown: "name status protected visibility sizeB",
		hidden: "hash virtualSizeB tags", unsaid: "size virtual_size os_hash_algo os_hash_value",
		zero: answer{"os_hash_algo": "sha512", "os_hash_value": ""},
	},
	{
		kind: "Flavor", observe: tabled(&flavor.Table), shown: "name ram disk vcpus isPublic",
		hidden: "description swap ephemeral extraSpecs", unsaid: "os-flavor-access:is_public OS-FLV-EXT-DATA:ephemeral",
		zero: answer{"swap": 0.0, "OS-FLV-EXT-DATA:ephemeral": 0.0},
		said: answer{"extra_specs": answer{"": ""}}, items: answer{"extraSpecs": []any{answer{"name": "", "value": ""}}},
	},
	{kind: "KeyPair", observe: reported(keypair.New), shown: "name fingerprint publicKey type"},
	{
		kind: "ServerGroup", observe: tabled(&servergroup.Table), shown: "name projectID userID policy", hidden: "rules",
		said: answer{"rules": answer{}}, items: answer{"rules": answer{"maxServerPerHost": 0.0}},
	},
	{
		kind: "Server", observe: tabled(&server.Table), shown: "name status hostID availabilityZone configDrive",
		hidden: "imageID serverGroups volumes interfaces tags metadata",
		unsaid: "OS-EXT-AZ:availability_zone hostId OS-EXT-SRV-ATTR:host image os-extended-volumes:volumes_attached",
		zero:   answer{"image": "", "config_drive": ""},
		said: answer{
			"os-extended-volumes:volumes_attached": []any{answer{}}, "metadata": answer{"": ""},
			"interfaces": []any{answer{"fixed_ips": []any{answer{}}}},
		},
		items: answer{
			"volumes": []any{answer{"id": ""}}, "metadata": []any{answer{"key": "", "value": ""}},
			"interfaces": []any{answer{
				"portID": "", "netID": "", "macAddr": "", "portState": "",
				"fixedIPs": []any{answer{"ipAddress": "", "subnetID": ""}},
			}},
		},
	},
	{
		kind: "VolumeType", observe: tabled(&volumetype.Table), shown: "name isPublic", hidden: "description extraSpecs",
		said: answer{"extra_specs": answer{"": ""}}, items: answer{"extraSpecs": []any{answer{"name": "", "value": ""}}},
	},
	{
		kind: "Volume", observe: tabled(&volume.Table), shown: "name volumeType size status userID encrypted multiattach",
		hidden: "description availabilityZone attachments snapshotID sourceVolID backupID metadata bootable " +
			"replicationStatus consistencyGroupID imageID host projectID createdAt updatedAt",
		unsaid: "os-vol-tenant-attr:tenant_id os-vol-host-attr:host source_volid consistencygroup_id volume_image_metadata",
		zero:   answer{"bootable": ""},
		said:   answer{"attachments": []any{answer{}}, "metadata": answer{"": ""}},
		items: answer{
			"attachments": []any{answer{"attachmentID": "", "serverID": "", "device": ""}},
			"metadata":    []any{answer{"name": "", "value": ""}},
		},
	},
	{
		kind: "ShareNetwork", observe: tabled(&sharenetwork.Table), shown: "cidr",
		hidden: "name description neutronNetID neutronSubnetID networkType segmentationID ipVersion projectID " +
			"createdAt updatedAt",
		zero: answer{"segmentation_id": 0.0, "ip_version": 0.0},
	},
}

// emptyRule is a rule of which OpenStack says no more than that.
func emptyRule(more answer) answer {
	rule := answer{
		"id": "", "description": "", "direction": "", "remoteGroupID": "", "remoteIPPrefix": "", "protocol": "",
		"ethertype": "",
	}
	maps.Copy(rule, more)
	return rule
}

// fieldsOf returns the names of the fields of a status, including embedded fields, with the
// zero values of their types in JSON.
func fieldsOf(of reflect.Type) map[string]any {
	all := map[string]any{}
	for field := range of.Fields() {
		if field.Anonymous {
			maps.Copy(all, fieldsOf(field.Type))
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := field.Type.Kind()
		if kind == reflect.Pointer {
			kind = field.Type.Elem().Kind()
		}
		all[name] = map[reflect.Kind]any{
			reflect.String: "", reflect.Bool: false, reflect.Int32: 0.0, reflect.Int64: 0.0,
		}[kind]
	}
	return all
}

// TestZeroes goes through all fields of all kinds.
func TestZeroes(t *testing.T) {
	for i := range zeroTable {
		row := &zeroTable[i]
		t.Run(row.kind, row.test)
	}
	for _, k := range kinds {
		if k.name != "RouterInterface" && !slices.ContainsFunc(zeroTable, func(r zeroes) bool { return r.kind == k.name }) {
			t.Errorf("%s is not tested", k.name)
		}
	}
}

func (row *zeroes) test(t *testing.T) {
	got, of := row.observe(answer{})
	all, want := fieldsOf(of), answer{}
	for name := range strings.FieldsSeq(row.shown) {
		want[name] = all[name]
	}
	listed := append(strings.Fields(row.shown), strings.Fields(row.hidden)...)
	slices.Sort(listed)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(all)), listed); diff != "" {
		t.Errorf("fields of the status, and those of the table (-status +table):\n%s", diff)
	}
	expect := func(reason string, got, want answer) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reason, diff)
		}
	}
	expect("an answer without a field", got, want)
	got, _ = row.observe(row.nulls(all))
	expect("an answer of nulls", got, want)
	got, _ = row.observe(row.zero)
	expect("zeroes that are left out", got, want)
	got, _ = row.observe(row.said)
	maps.Copy(want, row.items)
	expect("empty items", got, want)
}

// nulls is an answer that has all fields, and each is null.
func (row *zeroes) nulls(all answer) answer {
	said := answer{}
	for name := range all {
		said[kit.Snake(name)] = nil
	}
	for name := range strings.FieldsSeq(row.unsaid) {
		said[name] = nil
	}
	return said
}

// TestServiceDescription: of all fields that are omitted if OpenStack does not return them,
// only this field is shown if OpenStack returns an empty string.
func TestServiceDescription(t *testing.T) {
	observe := tabled(&service.Table)
	shown, _ := observe(answer{"description": ""})
	if text, told := shown["description"]; !told || text != "" {
		t.Errorf("an empty description is shown as %v", shown)
	}
}

// TestPasswordExpiry is told with a zone: Keystone leaves that out, and means UTC.
func TestPasswordExpiry(t *testing.T) {
	shown, _ := tabled(&user.Table)(answer{"password_expires_at": "2026-11-06T15:32:17.000000"})
	if shown["passwordExpiresAt"] != "2026-11-06T15:32:17Z" {
		t.Errorf("it is told as %v", shown["passwordExpiresAt"])
	}
}
