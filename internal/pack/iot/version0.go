package iot

import (
	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

// version0 returns the Deployment of an IotConnector of version 0. The Deployment has the name of
// the IotConnector, and all containers are in one Pod. A Deployment that an older controller
// created keeps its spec.selector.
func version0(c *iotv1alpha1.IotConnector, existing map[string]string) []deployment {
	return []deployment{{connector: c, name: c.Name, containers: c.Spec.Containers, selector: existing}}
}
