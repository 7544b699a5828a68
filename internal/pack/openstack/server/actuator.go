package server

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lists"
)

const kind = "Server"

type object = *openstackv1alpha1.Server

// Paths of references whose IDs are in parts of the request that kit.Reference.Body can't
// describe.
const (
	bootVolumeRef  = "spec.resource.bootVolume.volumeRef"
	portRefs       = "spec.resource.ports[].portRef"
	volumeRefs     = "spec.resource.volumes[].volumeRef"
	differentHosts = "spec.resource.schedulerHints.differentHostServerRefs"
	sameHosts      = "spec.resource.schedulerHints.sameHostServerRefs"
)

// References are the [kit.Reference] values of a Server.
var References = kit.Bind[object]([]kit.Reference{
	{Target: "Image", Field: "spec.resource.imageRef", Body: "imageRef"},
	{Target: "Volume", Field: bootVolumeRef},
	{Target: "Flavor", Field: "spec.resource.flavorRef", Need: kit.Once, Body: "flavorRef"},
	{Target: "Secret", Field: "spec.resource.userData.secretRef", Need: kit.Once},
	{Target: "Port", Field: portRefs},
	{Target: "Volume", Field: volumeRefs},
	{Target: "ServerGroup", Field: "spec.resource.schedulerHints.serverGroupRef", Need: kit.Once},
	{Target: "KeyPair", Field: "spec.resource.keypairRef", Need: kit.Once, Body: "key_name"},
	{Target: kind, Field: differentHosts, Need: kit.Once},
	{Target: kind, Field: sameHosts, Need: kit.Once},
})

// Table describes the requests for Servers.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Compute, References: References,
	Path: "servers", Listed: "servers/detail", One: "server", Many: "servers", Marked: metadataField,
	Fields: fields, Names: names, Observe: observe, Lingers: true,
	// Nova takes a name for a pattern, and only administrators can filter by availability zone.
	Compared: []string{"name", "availabilityZone"},
	Adapt: func(in external.Input[object], query url.Values) {
		if name := in.Object.GetFilter().Name; name != nil {
			query.Set("name", exactly(string(*name)))
		}
	},
	Tags: func(s object) []string { return kit.Texts(s.Spec.Resource.Tags) },
	Parts: []kit.Part[object]{
		{Name: metadataField, Differs: metadataDiffers},
		{Name: portsName, Differs: portsDiffer},
		{Name: volumesName, Differs: volumesDiffer},
	},
	Steady: steady,
	Alters: []schema.GroupKind{kit.GK("Port"), kit.GK("Volume")},
	Wrap:   func(a kit.Actuator[object]) kit.Requests[object] { return actuator{a} },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	metadata, networks := kit.Pairs(r.Metadata), networks(in)
	all := []kit.Field{
		kit.Fixed("networks", &networks),
		kit.Fixed("availability_zone", r.AvailabilityZone),
		kit.Fixed("config_drive", r.ConfigDrive).Opaque(), // Nova reports "True" or "".
		kit.Fixed(metadataField, &metadata),
		kit.List("tags", r.Tags).Fixed().Opaque(), // Nova reports another order; updates compare tags as a set.
	}
	if boot := r.BootVolume; boot != nil {
		device := map[string]any{
			"source_type": "volume", "destination_type": "volume", "boot_index": 0, "delete_on_termination": false,
			"uuid": kit.ID(in, "Volume", &boot.VolumeRef),
		}
		if boot.Tag != nil {
			device["tag"] = *boot.Tag
		}
		all = append(all, kit.List("block_device_mapping_v2", []any{device}).Fixed())
	}
	return all
}

// networks returns the ports for POST. Without ports, networks returns "none": otherwise Nova
// would choose a network.
func networks(in external.Input[object]) any {
	wanted := wantedPorts(in)
	if len(wanted) == 0 {
		return "none"
	}
	return lists.Map(wanted, func(id string) map[string]string { return map[string]string{"port": id} })
}

// schedule returns spec.resource.schedulerHints in Nova's JSON.
func schedule(in external.Input[object], h *openstackv1alpha1.ServerSchedulerHints) map[string]any {
	all := map[string]any{}
	for key, value := range h.AdditionalProperties {
		all[key] = value
	}
	for key, value := range map[string]*string{
		"group": kit.ID(in, "ServerGroup", h.ServerGroupRef), "query": h.Query, "target_cell": h.TargetCell,
	} {
		if value != nil {
			all[key] = *value
		}
	}
	for key, field := range map[string]string{"different_host": differentHosts, "same_host": sameHosts} {
		if ids := kit.IDs(in, References, field); len(ids) > 0 {
			all[key] = ids
		}
	}
	if len(h.DifferentCell) > 0 {
		all["different_cell"] = h.DifferentCell
	}
	if h.BuildNearHostIP != nil {
		address, length, _ := strings.Cut(string(*h.BuildNearHostIP), "/")
		all["build_near_host_ip"], all["cidr"] = address, "/"+length
	}
	return all
}

// exactly returns the pattern for exactly one name: Nova takes a name for a pattern.
func exactly(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// actuator sends the requests for servers that a table can't describe.
type actuator struct{ kit.Actuator[object] }

// Find implements external.Actuator.
func (a actuator) Find(
	ctx context.Context, in external.Input[object], search external.Search,
) ([]*kit.Resource, error) {
	if search.Imported {
		return a.Actuator.Find(ctx, in, search)
	}
	return a.Query(ctx, url.Values{"name": {exactly(search.Name)}}, func(r *kit.Resource) bool {
		return r.String("name") == search.Name // The marker identifies the right server among them.
	})
}

// Create implements external.Actuator. The answer of Nova has little more than the ID.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	s := in.Object.Spec.Resource
	sender := a.Actuator
	if s.UserData != nil && s.UserData.SecretRef != nil {
		value, err := a.Connector.Secret(ctx, in.Object.Namespace, string(*s.UserData.SecretRef), "value")
		if err != nil {
			return nil, err
		}
		sender = sender.WithSecret("user_data", base64.StdEncoding.EncodeToString([]byte(value)))
	}
	request := map[string]any{a.One: sender.Body(in)}
	if s.SchedulerHints != nil {
		request["os:scheduler_hints"] = schedule(in, s.SchedulerHints)
	}
	made, err := sender.Send(ctx, http.MethodPost, a.URL(), request)
	if err != nil {
		return nil, err
	}
	return &kit.Resource{Fields: map[string]any{
		"id": made.String("id"), "name": in.Object.GetResourceName(), "status": building,
		groupsField: []any{}, // The status must not show the groups of a former server.
	}}, nil
}

// IsPartial implements external.PartialLister: Nova's list has no server_groups, and no fault
// for servers without a host. While Nova builds a server, neither is needed.
func (a actuator) IsPartial(r *kit.Resource) bool { return r.String("status") != building }

// Complete implements external.Completer: the ports of a server need a request of their own
// (os-interface).
func (a actuator) Complete(ctx context.Context, r *kit.Resource) (*kit.Resource, error) {
	if !steady(r) {
		return r, nil
	}
	var answer struct {
		Interfaces []any `json:"interfaceAttachments"`
	}
	err := kit.Call(ctx, a.Client, http.MethodGet, a.URL(r.String("id"), interfacePath), nil, &answer)
	if err != nil {
		return r, kit.Explain(err)
	}
	r = &kit.Resource{Fields: maps.Clone(r.Fields)} // A list may have it for others as well.
	r.Fields[interfacesField] = answer.Interfaces
	return r, nil
}

// steady reports whether a server can be compared and changed: Nova is not about to change it.
func steady(r *kit.Resource) bool {
	return slices.Contains([]string{"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"}, r.String("status"))
}
