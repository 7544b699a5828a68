package iot

import (
	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/pkg/lists"
)

// version1 returns the Deployments of an IotConnector of version 1: one per spec.deployments
// entry.
func version1(c *iotv1alpha1.IotConnector) []deployment {
	return lists.Map(c.Spec.Deployments, func(entry iotv1alpha1.Deployment) deployment {
		return deployment{
			connector: c, name: iot.NameOf(c.Name, &entry), kind: iot.TypeOf(&entry),
			containers: entry.Containers, replicas: entry.Replicas, resources: entry.Resources,
		}
	})
}
