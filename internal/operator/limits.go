package operator

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/admission"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Defaults of the memory that objects may take.
const (
	// defaultNamespace is the default of Options.MaxNamespaceSize. 12,000 objects of the pack azure with 600 bytes of
	// JSON take as much.
	defaultNamespace = 64 << 20
	// perByte is how many bytes of memory a byte of JSON may take: 1 in a long text, 2 to 4 in an object with a Go type, 9
	// in short fields without one (BenchmarkKept).
	perByte = 8
)

// limits bound what the packs keep in memory of the objects of a namespace.
type limits struct {
	tally  *watch.Tally
	groups []string // of the kinds that are bounded
}

// newLimits returns the limits of the kinds of some packs.
func newLimits(o options.Options, chosen []pack.Pack) *limits {
	l := &limits{tally: &watch.Tally{
		Object:    perByte * cmp.Or(o.MaxObjectSize, admission.DefaultMaxObject),
		Namespace: cmp.Or(o.MaxNamespaceSize, defaultNamespace),
	}}
	for _, p := range chosen {
		if !p.Protects {
			l.groups = append(l.groups, options.GroupsOf(p)...)
		}
	}
	return l
}

// bounds reports whether the objects of a kind are bounded.
func (l *limits) bounds(gk schema.GroupKind) bool {
	return slices.Contains(l.groups, gk.Group)
}

// check implements admission.Options.Room.
func (l *limits) check(gk schema.GroupKind, namespace string) error {
	if !l.bounds(gk) {
		return nil
	}
	bytes, isFull := l.tally.Full(namespace)
	if !isFull {
		return nil
	}
	return fmt.Errorf("the objects of namespace %q take %d bytes of the operator's memory, and from three quarters of %d "+
		"on (--max-namespace-size of the operator) Kinship takes no more: delete objects of the namespace, or use another",
		namespace, bytes, l.tally.Namespace)
}
