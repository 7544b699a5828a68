// Package v1alpha1 is the API group services.azurehealthcareapis.com: IotConnector, which stands
// for many Deployments, and IotConnectorRelease, which upgrades all IotConnectors to a version.
//
// An IotConnector has the shape of version 0 or 1. Version 0 has a list of containers, which share
// a Deployment. Version 1 has a list of deployments, each with containers of its own, so that each
// destination can be added, removed and scaled by itself. [IotConnectorSpec.EffectiveVersion]
// returns the version.
//
// +kubebuilder:object:generate=true
// +groupName=services.azurehealthcareapis.com
package v1alpha1
