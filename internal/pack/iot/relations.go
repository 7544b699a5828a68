package iot

import (
	"fmt"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// composedRelation is the name of the only relation of the pack.
const composedRelation = "iotconnector-composed"

// Relations returns the relations of the pack's kinds.
func Relations() []relation.Relation {
	return []relation.Relation{{
		Name: composedRelation, Role: relation.Composition, Declarer: connectorKind.GroupKind(),
		Doc:     "An IotConnector is made of the Deployments and the identity in its inventory.",
		Extract: relation.Typed(extract),
	}}
}

// extract returns an edge for each entry of status.inventory.
func extract(c *iotv1alpha1.IotConnector, _ relation.Kinds) []relation.Edge {
	connector := object.Of(c, connectorKind.GroupKind())
	edges := make([]relation.Edge, 0, len(c.Status.Inventory))
	for i, entry := range entries(c) {
		edges = append(edges, relation.Edge{
			Relation: composedRelation, Role: relation.Composition, Declarer: connector,
			Source: relation.Named(connector), Target: relation.Named(entry.ID),
			Field: fmt.Sprintf("status.inventory[%d]", i),
		})
	}
	return edges
}
