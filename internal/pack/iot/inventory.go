package iot

import (
	"slices"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// entries reads the inventory off a status. Everything is in the namespace of the
// connector, whatever anybody writes.
func entries(c *iotv1alpha1.IotConnector) []apply.Entry {
	all := make([]apply.Entry, 0, len(c.Status.Inventory))
	for _, i := range c.Status.Inventory {
		all = append(all, apply.Entry{
			ID:      object.ID{Group: i.Group, Kind: i.Kind, Namespace: c.Namespace, Name: i.Name},
			Version: i.Version, UID: i.UID, Wave: i.Wave, Note: i.Type, Hash: i.Hash, Mark: i.Mark,
		})
	}
	return all
}

// inventory writes entries for a status.
func inventory(all []apply.Entry, ready func(apply.Entry) bool) []iotv1alpha1.Composed {
	composed := make([]iotv1alpha1.Composed, 0, len(all))
	for _, e := range all {
		composed = append(composed, iotv1alpha1.Composed{
			Group: e.Group, Version: e.Version, Kind: e.Kind, Name: e.Name,
			Type: e.Note, UID: e.UID, Wave: e.Wave, Hash: e.Hash, Mark: e.Mark, Ready: ready(e),
		})
	}
	return composed
}

// known adds to an inventory what is not in it.
func known(all, found []apply.Entry) []apply.Entry {
	for _, e := range found {
		if !slices.ContainsFunc(all, func(other apply.Entry) bool { return other.ID == e.ID }) {
			all = append(all, e)
		}
	}
	return all
}
