package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "services.azurehealthcareapis.com", Version: "v1alpha1"}

// Names of the kinds.
const (
	KindIotConnector        = "IotConnector"
	KindIotConnectorRelease = "IotConnectorRelease"
)

// AddToScheme adds this package's kinds to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&IotConnector{},
		&IotConnectorList{},
		&IotConnectorRelease{},
		&IotConnectorReleaseList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
