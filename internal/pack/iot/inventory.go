package iot

import (
	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
)

// entries reads status.inventory. Every composed object is in the namespace of the IotConnector,
// so status.inventory can't name an object in another namespace.
func entries(c *iotv1alpha1.IotConnector) []apply.Entry {
	return lists.Map(c.Status.Inventory, func(i iotv1alpha1.Composed) apply.Entry {
		return apply.Entry{
			ID:      object.ID{Group: i.Group, Kind: i.Kind, Namespace: c.Namespace, Name: i.Name},
			Version: i.Version, UID: i.UID, Wave: i.Wave, Note: i.Type, Hash: i.Hash, Mark: i.Mark,
		}
	})
}

// inventory returns entries in the form of status.inventory.
func inventory(all []apply.Entry, isReady func(apply.Entry) bool) []iotv1alpha1.Composed {
	return lists.Map(all, func(e apply.Entry) iotv1alpha1.Composed {
		return iotv1alpha1.Composed{
			Group: e.Group, Version: e.Version, Kind: e.Kind, Name: e.Name,
			Type: e.Note, UID: e.UID, Wave: e.Wave, Hash: e.Hash, Mark: e.Mark, Ready: isReady(e),
		}
	})
}
