package oam

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
)

// Names in the cluster.
const (
	// fieldOwner is the field manager of the pack, and the prefix of the field manager of each
	// trait.
	fieldOwner    = "kinship-oam"
	configuration = "kinship-oam"
	authorsPath   = "/mutate-oam-authors"
	validatePath  = "/validate-oam"
	validateName  = "validate.oam.kinship.dev"

	applications = "applicationconfigurations"
	components   = "components"
	workloads    = "containerizedworkloads"
	scalers      = "manualscalertraits"
	healthScopes = "healthscopes"
)

// finalizer keeps an ApplicationConfiguration until its workloads have left all scopes. The former name is the
// published one, without a path.
var finalizer = object.Finalizer{Name: "oam.kinship.dev/scopes", Former: []string{"scope.finalizer.core.oam.dev"}}

var (
	group = oamv1alpha2.GroupVersion.Group

	applicationKind        = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindApplicationConfiguration)
	componentKind          = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindComponent)
	workloadDefinitionKind = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindWorkloadDefinition)
	traitDefinitionKind    = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindTraitDefinition)
	scopeDefinitionKind    = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindScopeDefinition)
	containerizedKind      = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindContainerizedWorkload)
	scalerKind             = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindManualScalerTrait)
	healthScopeKind        = oamv1alpha2.GroupVersion.WithKind(oamv1alpha2.KindHealthScope)

	revisionKind   = appsv1.SchemeGroupVersion.WithKind("ControllerRevision")
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	configMapKind  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	serviceKind    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
)

// idOf returns the [object.ID] that a TypedReference in an object of a namespace names.
func idOf(ref oamv1alpha2.TypedReference, namespace string) object.ID {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: ref.Name}
}

// in returns the [object.ID] of an object of a kind.
func in(gvk schema.GroupVersionKind, namespace, name string) object.ID {
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: namespace, Name: name}
}
