package iot

import (
	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
)

// version0 is the path of a connector of version 0, which stays as it was: one
// Deployment, named like the connector, with all containers in one Pod. One that
// an older controller has made keeps its selector.
func version0(c *iotv1alpha1.IotConnector, existing map[string]string) []deployment {
	return []deployment{{connector: c, name: c.Name, containers: c.Spec.Containers, selector: existing}}
}
