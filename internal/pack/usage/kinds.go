package usage

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Names of the published API, on which tools and manifests rely.
const (
	lockLabel         = "crossplane.io/in-use"
	lockValue         = "true"
	detailsAnnotation = "crossplane.io/usage-details"
	composedLabel     = "crossplane.io/composite"
)

// finalizer keeps a Usage until its lock is removed. The former name is the published one, without a path.
var finalizer = object.Finalizer{
	Name: "usage.kinship.dev/in-use", Former: []string{"usage.apiextensions.crossplane.io"},
}

// usage is implemented by the three kinds.
type usage interface {
	client.Object
	UsageSpec() *sharedv1alpha1.UsageSpec
	UsageStatus() *sharedv1alpha1.UsageStatus
}

// kind is Usage of protection.crossplane.io, ClusterUsage, or Usage of
// apiextensions.crossplane.io.
type kind struct {
	schema.GroupVersionKind
	resource string
	new      func() usage
	newList  func() client.ObjectList
	// selectable says that the API server can select objects by spec.of.resourceRef.name
	// (selectableFields). The API server refuses selectableFields for a kind whose versions
	// have the same schema.
	selectable bool
}

// kinds are the three kinds of Usage. Refusals name Usages in this order.
var kinds = []kind{
	{
		protectionv1beta1.GroupVersion.WithKind("Usage"), "usages",
		func() usage { return &protectionv1beta1.Usage{} },
		func() client.ObjectList { return &protectionv1beta1.UsageList{} }, true,
	},
	{
		protectionv1beta1.GroupVersion.WithKind("ClusterUsage"), "clusterusages",
		func() usage { return &protectionv1beta1.ClusterUsage{} },
		func() client.ObjectList { return &protectionv1beta1.ClusterUsageList{} }, true,
	},
	{
		usagev1alpha1.GroupVersion.WithKind("Usage"), "usages",
		func() usage { return &usagev1alpha1.Usage{} },
		func() client.ObjectList { return &usagev1alpha1.UsageList{} }, false,
	},
}

// locks explain label crossplane.io/in-use to users who may not list Usages.
func locks() []lineage.Lock {
	return []lineage.Lock{{Label: lockLabel, Value: lockValue, By: lists.Map(kinds, kind.GroupKind)}}
}

// kindOf returns the kind of Usage with a group and kind.
func kindOf(gk schema.GroupKind) (kind, bool) {
	for _, k := range kinds {
		if k.GroupKind() == gk {
			return k, true
		}
	}
	return kind{}, false
}

// identify returns the ID of a Usage.
func identify(u usage) object.ID {
	switch u.(type) {
	case *protectionv1beta1.ClusterUsage:
		return object.Of(u, kinds[1].GroupKind())
	case *usagev1alpha1.Usage:
		return object.Of(u, kinds[2].GroupKind())
	default:
		return object.Of(u, kinds[0].GroupKind())
	}
}

// isComposed reports whether a Usage belongs to a composition (label crossplane.io/composite),
// which deletes the Usage together with the used and the using object.
func isComposed(u usage) bool { return u.GetLabels()[composedLabel] != "" }
