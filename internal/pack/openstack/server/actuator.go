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
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, kind, (*openstack.Scope).Compute, &table, Relations, observe)
	k.Differs = differs
	k.Lingers = true
	k.Alters = []schema.GroupKind{kit.GK("Port"), kit.GK("Volume")}
	return kit.Wrap(k, func(a kit.Actuator[object]) external.Actuator[object, *kit.Resource] { return actuator{a, c} })
}

var table = kit.Table[object]{
	Path: "servers", Listed: "servers/detail", One: "server", Many: "servers", Marked: metadataField,
	Fields: fields, Filter: query, Matches: matches,
	Tags: func(s object) []string { return kit.Texts(s.Spec.Resource.Tags) },
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	metadata, networks := pairs(r.Metadata), networks(in)
	all := []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Fixed("flavorRef", kit.ID(in, "Flavor", &r.FlavorRef)),
		kit.Fixed("imageRef", kit.ID(in, "Image", r.ImageRef)),
		kit.Fixed("networks", &networks),
		kit.Fixed("key_name", kit.ID(in, "KeyPair", r.KeypairRef)),
		kit.Fixed("availability_zone", r.AvailabilityZone),
		kit.Fixed("config_drive", r.ConfigDrive).Opaque(), // Told as "True" or "".
		kit.Fixed(metadataField, &metadata),
		kit.FixedList("tags", r.Tags).Opaque(), // Told in another order; they are corrected as a set.
	}
	if boot := r.BootVolume; boot != nil {
		device := map[string]any{
			"source_type": "volume", "destination_type": "volume", "boot_index": 0, "delete_on_termination": false,
			"uuid": kit.ID(in, "Volume", &boot.VolumeRef),
		}
		if boot.Tag != nil {
			device["tag"] = *boot.Tag
		}
		all = append(all, kit.FixedList("block_device_mapping_v2", []any{device}))
	}
	return all
}

// networks returns the ports to begin with. Nova would choose if it were not told
// that there are none.
func networks(in external.Input[object]) any {
	wanted := wantedPorts(in)
	if len(wanted) == 0 {
		return "none"
	}
	all := make([]map[string]string, 0, len(wanted))
	for _, id := range wanted {
		all = append(all, map[string]string{"port": id})
	}
	return all
}

func pairs(all []openstackv1alpha1.ServerMetadata) map[string]string {
	metadata := map[string]string{}
	for _, m := range all {
		metadata[m.Key] = m.Value
	}
	return metadata
}

// schedule returns the hints for where the server is to be, as Nova has them.
func schedule(in external.Input[object], h *hints) map[string]any {
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
	for key, refs := range map[string]kit.Refs{
		"different_host": h.DifferentHostServerRefs, "same_host": h.SameHostServerRefs,
	} {
		if len(refs) > 0 {
			all[key] = ids(in, kind, refs)
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

func ids(in external.Input[object], kind string, refs kit.Refs) []string {
	all := make([]string, 0, len(refs))
	for _, name := range refs {
		all = append(all, *kit.ID(in, kind, &name))
	}
	return all
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	if f.Name != nil {
		q.Set("name", exactly(string(*f.Name)))
	}
	q.ServerTags(f.FilterByServerTags)
	return q.Values
}

// exactly returns the pattern of one name: Nova takes names for patterns.
func exactly(name string) string { return "^" + regexp.QuoteMeta(name) + "$" }

// matches has the filters that Nova leaves to administrators.
func matches(in external.Input[object], r *kit.Resource) bool {
	f := in.Object.GetFilter()
	return kit.Has(r, "name", f.Name) && kit.Has(r, names["availabilityZone"], f.AvailabilityZone)
}

// actuator makes requests of servers that a table can't describe.
type actuator struct {
	kit.Actuator[object]

	connector *kit.Connector
}

// Find implements external.Actuator.
func (a actuator) Find(
	ctx context.Context, in external.Input[object], search external.Search,
) ([]*kit.Resource, error) {
	if search.Imported {
		return a.Actuator.Find(ctx, in, search)
	}
	return a.Query(ctx, url.Values{"name": {exactly(search.Name)}}, func(r *kit.Resource) bool {
		return r.String("name") == search.Name // The mark tells which one is meant.
	})
}

// Create implements external.Actuator. The answer has little but the id.
func (a actuator) Create(ctx context.Context, in external.Input[object]) (*kit.Resource, error) {
	s := in.Object.Spec.Resource
	sender := a.Actuator
	if s.UserData != nil && s.UserData.SecretRef != nil {
		value, err := a.connector.Secret(ctx, in.Object.Namespace, string(*s.UserData.SecretRef), "value")
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
		groupsField: []any{}, // Those of a server that this one replaces are not told any more.
	}}, nil
}

// IsPartial implements external.PartialLister: Nova's list has no groups, and no faults of
// servers without a host. While Nova builds a server, both can wait.
func (a actuator) IsPartial(r *kit.Resource) bool { return r.String("status") != building }

// Complete implements external.Completer: Nova tells of ports separately.
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

// steady reports whether a server can be compared, and changed: not while Nova is
// about to do something to it.
func steady(r *kit.Resource) bool {
	return slices.Contains([]string{"ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"}, r.String("status"))
}
