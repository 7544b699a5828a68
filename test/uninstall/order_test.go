package uninstall_test

import (
	"os"
	"slices"
	"testing"

	"github.com/kinship-dev/kinship/internal/options"
)

// order is a wrong order: before deletes something before `kinship uninstall` runs.
type order struct {
	name   string
	before func(w *world)
	// refused are the names of the objects whose deletion is refused. The other deletions begin.
	refused []string
}

// orders are those of every change.
var orders = []order{
	{"the namespace of the operator is deleted", func(w *world) {
		w.removeNamespace(options.Namespace)
		w.stop()
		w.removeNamespace(stories)
	}, nil},
	{"the chart is removed, then definitions and namespaces", func(w *world) {
		w.stop()
		w.removeChart()
		w.removeDefinitions()
		w.removeNamespace(stories)
		w.removeNamespace(options.Namespace)
	}, nil},
}

// moreOrders are those of the night.
var moreOrders = []order{
	{"the operator is stopped", (*world).stop, nil},
	{"the definitions are deleted while the operator runs", func(w *world) {
		w.removeDefinitions()
		w.stop()
	}, declarations},
	{"the operator is stopped, then the definitions are deleted", func(w *world) {
		w.stop()
		w.removeDefinitions()
	}, declarations},
	{"the namespace of the objects is deleted while the operator runs", func(w *world) {
		w.removeNamespace(stories)
		w.stop()
	}, nil},
	{"the operator is stopped, then the namespace of the objects is deleted", func(w *world) {
		w.stop()
		w.removeNamespace(stories)
	}, nil},
}

// TestUninstallInAnyOrder deletes parts of an installation in a wrong order. `kinship uninstall` then
// removes the rest, and no object is stuck.
func TestUninstallInAnyOrder(t *testing.T) {
	all := orders
	if os.Getenv("KINSHIP_MANY") != "" {
		all = append(slices.Clone(orders), moreOrders...)
	}
	for _, order := range all {
		t.Run(order.name, func(t *testing.T) {
			w := newWorld(t)
			order.before(w)
			w.begun(order.refused...)
			w.uninstall()
			w.nothingStuck()
		})
	}
}
