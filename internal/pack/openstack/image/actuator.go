package image

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Image

// References are the [kit.Reference] values of an Image.
var References = kit.Bind[object](nil)

// uploads limits the contents that are streamed at the same time: in all, of the Images of one
// namespace, and from one host.
var uploads = shares{all: 6, namespace: 4, source: 3}

// New returns the [external.Kind] of Image.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	streams, outside, table := newPool(uploads), c.Clouds.Outside(), table
	table.Parts = []kit.Part[object]{{Name: contentField, Differs: func(in external.Input[object], r *kit.Resource) bool {
		phase := phaseOf(in.Object, r, time.Now())
		return in.Object.Spec.Resource.Content != nil &&
			(streams.has(in.Object.UID) || phase == notAsked || phase == failed)
	}}}
	table.Wrap = func(a kit.Actuator[object]) kit.Requests[object] {
		return actuator{a, streams, outside}
	}
	k := kit.Kind(c, &table)
	k.Tasks = streams
	k.Identify = func(r *kit.Resource) external.Identity {
		who := kit.Identify(r)
		who.Marker = types.UID(r.String(marker))
		return who
	}
	return k
}

// marker is the image property with the UID of the Image object that the image was created for.
const marker = "kinship_uid"

var table = kit.Table[object]{
	Service: (*openstack.Scope).Image, References: References,
	Dated: true,
	Path:  "images", Many: "images", Fields: fields, Observe: observe,
	Adapt:  adapt,
	Always: url.Values{"limit": {"1000"}}, // Glance's default is 25 images per page.
}

// adapt changes the query for a filter. Glance takes a parameter "tag" per tag. Glance takes the text before a colon in
// a name for an operator: "in:a" would find an image called a, and "ubuntu:24.04" is refused. After the operator eq,
// the rest is a name.
func adapt(in external.Input[object], query url.Values) {
	filter := in.Object.GetFilter()
	query.Del("tags")
	query["tag"] = kit.Texts(filter.Tags)
	if name := filter.Name; name != nil && strings.Contains(string(*name), ":") {
		query.Set("name", "eq:"+string(*name))
	}
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	all := []kit.Field{
		kit.Default("visibility", r.Visibility, "shared"),
		kit.Default("protected", r.Protected, false),
		kit.Set("tags", r.Tags),
		kit.Fixed(marker, &in.Object.UID).Opaque(),
	}
	if c := r.Content; c != nil {
		all = append(all, kit.Fixed("disk_format", &c.DiskFormat), kit.Fixed("container_format", &c.ContainerFormat))
	}
	return append(all, properties(r.Properties)...)
}

// actuator changes images with JSON patches, and uploads their contents.
type actuator struct {
	kit.Actuator[object]

	pool    *pool
	outside *http.Client // for downloads
}

// Find implements external.Actuator. An image that was created for an object has the property
// marker.
func (a actuator) Find(
	ctx context.Context, in external.Input[object], search external.Search,
) ([]*kit.Resource, error) {
	if search.Imported {
		return a.Actuator.Find(ctx, in, search)
	}
	uid := string(in.Object.UID)
	return a.Query(ctx, url.Values{marker: {uid}}, func(r *kit.Resource) bool { return r.String(marker) == uid })
}

// Update implements external.Actuator.
func (a actuator) Update(
	ctx context.Context, in external.Input[object], r *kit.Resource, names []string,
) (*kit.Resource, error) {
	var steps []step
	for _, f := range a.Wanted(in) {
		if slices.Contains(names, f.Name) {
			steps = append(steps, step{"replace", "/" + f.Name, f.Want})
		}
	}
	if len(steps) > 0 {
		changed, err := a.patch(ctx, r.String("id"), steps)
		if err != nil {
			return r, err
		}
		r = changed
	}
	if !slices.Contains(names, contentField) {
		return r, nil
	}
	return a.fill(ctx, in, r)
}

// step is one operation of a JSON patch.
type step struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch changes an image by PATCH. Glance accepts no other method and no other Content-Type.
func (a actuator) patch(ctx context.Context, id string, steps []step) (*kit.Resource, error) {
	var fields map[string]any
	response, err := a.Client.Request(ctx, http.MethodPatch, a.URL(id), &gophercloud.RequestOpts{
		JSONBody: steps, JSONResponse: &fields, OkCodes: []int{http.StatusOK},
		MoreHeaders: map[string]string{"Content-Type": "application/openstack-images-v2.1-json-patch"},
	})
	if err != nil {
		return nil, kit.Explain(err)
	}
	_ = response.Body.Close() // JSONResponse has read the body.
	return &kit.Resource{Fields: fields}, nil
}

// Delete implements external.Actuator. Glance refuses to delete a protected image. If
// spec.resource.protected is true, the refusal is reported; otherwise Delete removes the
// protection first.
func (a actuator) Delete(ctx context.Context, in external.Input[object], id string) error {
	status, wanted := in.Object.Status.Resource, in.Object.Spec.Resource.Protected
	if status != nil && ptr.Deref(status.Protected, false) && !ptr.Deref(wanted, false) {
		if _, err := a.patch(ctx, id, []step{{"replace", "/protected", false}}); err != nil {
			return err
		}
	}
	return a.Actuator.Delete(ctx, in, id)
}
