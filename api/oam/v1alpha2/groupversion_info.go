package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "core.oam.dev", Version: "v1alpha2"}

// Names of the kinds.
const (
	KindApplicationConfiguration = "ApplicationConfiguration"
	KindComponent                = "Component"
	KindWorkloadDefinition       = "WorkloadDefinition"
	KindTraitDefinition          = "TraitDefinition"
	KindScopeDefinition          = "ScopeDefinition"
	KindContainerizedWorkload    = "ContainerizedWorkload"
	KindManualScalerTrait        = "ManualScalerTrait"
	KindHealthScope              = "HealthScope"
)

// AddToScheme adds this package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&ApplicationConfiguration{}, &ApplicationConfigurationList{},
		&Component{}, &ComponentList{},
		&WorkloadDefinition{}, &WorkloadDefinitionList{},
		&TraitDefinition{}, &TraitDefinitionList{},
		&ScopeDefinition{}, &ScopeDefinitionList{},
		&ContainerizedWorkload{}, &ContainerizedWorkloadList{},
		&ManualScalerTrait{}, &ManualScalerTraitList{},
		&HealthScope{}, &HealthScopeList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
