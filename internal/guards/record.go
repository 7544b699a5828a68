package guards

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/presence"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const (
	// guardsPrefix begins the name of the Lease with the record of a pack, such as
	// kinship-guards-usage. The Lease is in namespace kinship-system, where users have no rights.
	guardsPrefix = "kinship-guards-"
	// guardsRecord is the annotation of the Lease with the record in JSON.
	guardsRecord = "kinship.dev/guards"
)

// record is the part of guards that must outlive the process.
type record struct {
	// Since is a resourceVersion: pack.Doubt judges objects written since then again.
	Since string `json:"since,omitempty"`
	// Guards are the guards as last seen in force. examinePack empties Guards before an
	// installation, because install.Install changes guards itself.
	Guards map[string]knownGuard `json:"guards,omitempty"`
	// Installed are the pack.Force digests of the guards of the last installation, perhaps of
	// another release.
	Installed map[string]string `json:"installed,omitempty"`
}

// knownGuard is a guard as last seen in force: UID, generation and pack.Force.
type knownGuard struct {
	UID        types.UID `json:"uid"`
	Generation int64     `json:"generation"`
	Force      string    `json:"force"`
}

// note moves record.Since back to an earlier resourceVersion.
func (r *record) note(since string) { r.Since = earlier(r.Since, since) }

// earlier returns the earlier of two values of resourceVersion. An empty resourceVersion counts as
// absent.
func earlier(a, b string) string {
	order, err := object.CompareVersions(a, b)
	if a == "" || b != "" && err == nil && order > 0 {
		return b
	}
	return a
}

// OnlyInstalled wraps the function that restores a guard of a pack. A guard that the last installation left out is not
// restored: another operator was installed with another --enforcement, and two operators with --install would
// else undo each other's guards. The error is a guard.Fault.
func OnlyInstalled(
	install func(context.Context, client.Object) error, records Recorder,
) func(context.Context, client.Object) error {
	if install == nil {
		return nil
	}
	return func(ctx context.Context, obj client.Object) error {
		known, _, err := records.read(ctx)
		if err != nil {
			return err
		}
		gvk, err := records.client.GroupVersionKindFor(obj)
		if err != nil {
			return fmt.Errorf("identify %s: %w", obj.GetName(), err)
		}
		key := keyOf(object.Of(obj, gvk.GroupKind()))
		if _, wanted := known.Installed[key]; !wanted && len(known.Installed) > 0 {
			return &guard.Fault{Message: fmt.Sprintf("%s is not restored, since the last installation left it out: another "+
				"operator was installed with another --enforcement. End one of both operators", key)}
		}
		return install(ctx, obj)
	}
}

// Recorder reads and writes the record of one pack in the Lease kinship-guards-PACK.
type Recorder struct {
	client client.Client
	pack   string
}

// NewRecorder returns the recorder of a pack.
func NewRecorder(c client.Client, packName string) Recorder { return Recorder{c, packName} }

// Lease returns the Lease of the record, as it is before the first record.
func (r Recorder) Lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: guardsPrefix + r.pack}}
}

// read returns the record and its Lease. If the Lease does not exist, read returns a Lease without
// a UID.
func (r Recorder) read(ctx context.Context) (record, *coordinationv1.Lease, error) {
	var known record
	lease := r.Lease()
	err := r.client.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if apierrors.IsNotFound(err) {
		return known, r.Lease(), nil
	}
	if err != nil {
		return known, nil, fmt.Errorf("read the record of guards of pack %s: %w", r.pack, err)
	}
	if text := lease.Annotations[guardsRecord]; text != "" {
		if err := json.Unmarshal([]byte(text), &known); err != nil {
			return known, nil, fmt.Errorf("read the record of guards of pack %s: %w", r.pack, err)
		}
	}
	return known, lease, nil
}

// change applies a function to the record, and writes the Lease if the annotation guardsRecord has
// changed.
func (r Recorder) change(ctx context.Context, change func(*record)) error {
	err := retry.OnError(retry.DefaultBackoff, reconcile.IsOvertaken, func() error {
		known, lease, err := r.read(ctx)
		if err != nil {
			return err
		}
		change(&known)
		text, err := json.Marshal(known)
		if err != nil {
			return err
		}
		if string(text) == lease.Annotations[guardsRecord] {
			return nil
		}
		if lease.Annotations == nil {
			lease.Annotations = map[string]string{}
		}
		lease.Annotations[guardsRecord] = string(text)
		return r.write(ctx, lease)
	})
	if err != nil {
		return fmt.Errorf("record the guards of pack %s: %w", r.pack, err)
	}
	return nil
}

func (r Recorder) write(ctx context.Context, lease *coordinationv1.Lease) error {
	lease.Spec.RenewTime = new(metav1.NowMicro())
	if lease.UID == "" {
		return r.client.Create(ctx, lease)
	}
	return r.client.Update(ctx, lease)
}

// touch writes the Lease without a change of the record, so that the Lease has a newer
// resourceVersion. The next operator trusts objects that were written before that resourceVersion.
func (r Recorder) touch(ctx context.Context) error {
	_, lease, err := r.read(ctx)
	if err != nil || lease.UID == "" {
		return err
	}
	if err := r.write(ctx, lease); err != nil {
		return fmt.Errorf("record the guards of pack %s: %w", r.pack, err)
	}
	return nil
}

// alive returns the resourceVersion at which an operator was last known to watch: the latest among
// the record's Lease and the operators' own Leases. Only operators write Leases in namespace
// kinship-system.
func (r Recorder) alive(ctx context.Context, lease *coordinationv1.Lease) (string, error) {
	var all coordinationv1.LeaseList
	if err := r.client.List(ctx, &all, client.InNamespace(options.Namespace)); err != nil {
		return "", fmt.Errorf("list leases in namespace %s: %w", options.Namespace, err)
	}
	last := lease.ResourceVersion
	for i := range all.Items {
		l := &all.Items[i]
		if l.Name != options.LeaseName && !strings.HasPrefix(l.Name, presence.Prefix) {
			continue
		}
		if earlier(last, l.ResourceVersion) == last {
			last = l.ResourceVersion
		}
	}
	return last, nil
}

// CompareRecords compares the guards of packs with the record of the previous operator, before install.Install
// or operator.Run. If a user deleted or altered a guard while no operator ran, CompareRecords sets record.Since:
// objects written since then are judged again, even if the guard is back. Before install.Install, CompareRecords
// also sets record.Installed to the guards that install.Install is going to apply.
func CompareRecords(
	ctx context.Context, o options.Options, c client.Client, chosen []pack.Pack, mutating, installs bool,
) error {
	for _, p := range chosen {
		templates, err := Templates(o.Installation(mutating), p, c)
		if err != nil {
			return err
		}
		if err := examinePack(ctx, NewRecorder(c, p.Name), p, templates, installs); err != nil {
			return err
		}
	}
	return nil
}

func examinePack(
	ctx context.Context, r Recorder, p pack.Pack, templates map[object.ID]client.Object, installs bool,
) error {
	known, lease, err := r.read(ctx)
	if err != nil {
		return err
	}
	since, installed := "", map[string]string{}
	for id, template := range templates {
		installed[keyOf(id)] = pack.Force(template, template)
		if slices.Contains(p.Enforced, id.Name) {
			continue
		}
		same, err := unchanged(ctx, r.client, known, lease, id, template)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		if since, err = r.alive(ctx, lease); err != nil {
			return err
		}
	}
	if since == "" && !installs {
		return nil
	}
	return r.change(ctx, func(known *record) {
		known.note(since)
		if installs {
			known.Guards, known.Installed = nil, installed
		}
	})
}

// unchanged reports whether a guard is as in record.Guards and record.Installed. A guard that
// neither map has counts as unchanged.
func unchanged(
	ctx context.Context, c client.Reader, known record, lease *coordinationv1.Lease, id object.ID, template client.Object,
) (bool, error) {
	before, seen := known.Guards[keyOf(id)]
	installed := known.Installed[keyOf(id)]
	live, err := Read(ctx, c, template)
	switch {
	case apierrors.IsForbidden(err):
		return true, nil // An older installation does not give the right to see policies.
	case err != nil:
		return false, err
	case live == nil:
		return !seen && installed == "", nil
	case seen && before.UID != live.GetUID():
		return false, nil
	case seen && before.Generation != live.GetGeneration() && !onlyOurs(live, lease):
		return false, nil
	default:
		force := pack.Force(live, template)
		return installed == "" || force == installed || force == pack.Force(template, template), nil
	}
}

// ourManagers are the field managers of the operator's own writes to guards.
var ourManagers = []string{
	string(InstallManager), string(trustOwner), string(pathOwner), "kinship-usage", "kinship-iot", "kinship-oam",
}

// onlyOurs reports whether nobody but the operator has written a guard since a record was written. The operator itself
// changes guards: the secret path is new at each start, and the operator may have been killed before the next
// record. The time of a field manager is in seconds.
func onlyOurs(live client.Object, lease *coordinationv1.Lease) bool {
	if lease.Spec.RenewTime == nil {
		return false
	}
	recorded := lease.Spec.RenewTime.Add(-time.Second)
	return !slices.ContainsFunc(live.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return !slices.Contains(ourManagers, f.Manager) && (f.Time == nil || !f.Time.Time.Before(recorded))
	})
}
