package usage

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Options of the pack.
type Options struct {
	// GracePeriod is how long a deleted Usage without label crossplane.io/composite waits for the
	// deletion of its using object to begin. Zero means five seconds.
	GracePeriod time.Duration
	// ReplayExpiry is how long a refused deletion is recorded. Zero means a day.
	ReplayExpiry time.Duration
	// MaxPerNamespace is how many Usages a namespace may have. Zero means any number.
	MaxPerNamespace int
	// Kinds are the resources that Usages may protect. Using are further resources that may use
	// them. The pack has rights to Kinds and Using only. No Kinds means all kinds.
	Kinds, Using []schema.GroupResource
	// Namespaces are the namespaces that the operator works in. Empty means all.
	Namespaces []string
	// LiftedBy names the ClusterRole of Kubernetes whose users may change and delete Usages of their
	// namespaces, and so lift protection. Empty means [LiftedByEdit].
	LiftedBy LiftedBy
}

// LiftedBy is a ClusterRole of Kubernetes for users in a namespace, or none.
type LiftedBy string

// The values of Options.LiftedBy. With LiftedByNone, only users with other rights, such as a binding
// of the ClusterRole kinship-usage-lift, may change and delete Usages.
const (
	LiftedByEdit  LiftedBy = "edit"
	LiftedByAdmin LiftedBy = "admin"
	LiftedByNone  LiftedBy = "none"
)

// LiftedByAll are the values of Options.LiftedBy.
var LiftedByAll = []LiftedBy{LiftedByEdit, LiftedByAdmin, LiftedByNone}

func (o Options) withDefaults() Options {
	o.GracePeriod = cmp.Or(o.GracePeriod, 5*time.Second)
	o.ReplayExpiry = cmp.Or(o.ReplayExpiry, 24*time.Hour)
	return o
}
