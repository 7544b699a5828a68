// Package v1alpha1 is the API group services.azurehealthcareapis.com:
// IotConnector, one object that stands for many Deployments, and
// IotConnectorRelease, which brings all IotConnectors to a version.
//
// An IotConnector has one of two shapes. Version 0 has a list of containers, which
// share one Deployment. Version 1 has a list of deployments, each with containers
// of its own, so that a destination can come, go and scale without the others.
// [IotConnectorSpec.EffectiveVersion] tells which one it is.
//
// +kubebuilder:object:generate=true
// +groupName=services.azurehealthcareapis.com
package v1alpha1
