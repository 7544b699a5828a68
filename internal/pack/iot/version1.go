package iot

import (
	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// version1 returns the Deployments of an IotConnector of version 1: one per spec.deployments
// entry.
func version1(c *iotv1alpha1.IotConnector) []deployment {
	all := make([]deployment, 0, len(c.Spec.Deployments))
	for i := range c.Spec.Deployments {
		entry := &c.Spec.Deployments[i]
		all = append(all, deployment{
			connector: c, name: iot.NameOf(c.Name, entry), kind: iot.TypeOf(entry),
			containers: entry.Containers, replicas: entry.Replicas, resources: entry.Resources,
		})
	}
	return all
}
