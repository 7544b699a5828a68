package azurekinds_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	cloud "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// rig is an operator with an emulated Azure.
type rig struct {
	testenv.World

	kinds  *catalogue.Catalogue
	server *emulator.Server
	other  *cloud.Client
}

// TestKindsReady enables kinds at run time, and makes the smallest object of each Ready. The kinds are one in forty,
// or all with KINSHIP_ALL_KINDS, a hundred at a time.
func TestKindsReady(t *testing.T) {
	const batch, goal = 100, 95
	step := 40
	if os.Getenv("KINSHIP_ALL_KINDS") != "" {
		step = 1
	}
	r := newRig(t)
	var sample []*catalogue.Kind
	for i, k := range r.kinds.Kinds() {
		if r.kinds.Default(k.Type) == k && i%step == 0 {
			sample = append(sample, k)
		}
	}
	ready := 0
	for part := range slices.Chunk(sample, batch) {
		ready += r.ready(part)
	}
	t.Logf("%d of %d kinds are Ready", ready, len(sample))
	if 100*ready < goal*len(sample) {
		t.Errorf("%d of %d kinds are Ready, want %d %%", ready, len(sample), goal)
	}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	kinds, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	server, err := emulator.Start(emulator.Options{RetryAfter: -1, BuildTime: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	other, err := cloud.NewClient(cloud.Options{Endpoint: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	operator.Start(t, func(o *options.Options) {
		o.Azure.Endpoint, o.Azure.Credential = server.URL(), cloud.NoCredential
		o.Azure.Subscription = "00000000-0000-0000-0000-000000000000"
	})
	return &rig{testenv.NewWorld(t, operator.Client(t)), kinds, server, other}
}

// ready enables kinds, makes an object of each, and returns how many became Ready. Kinds and objects are gone at the
// end.
func (r *rig) ready(kinds []*catalogue.Kind) (n int) {
	r.T.Helper()
	ctx := r.T.Context()
	if err := packazure.Enable(ctx, r.C, r.kinds, kinds, install.AzureGrant()); err != nil {
		r.T.Fatal(err)
	}
	objects := make([]*unstructured.Unstructured, 0, len(kinds))
	for _, k := range kinds {
		spec, err := azure.Example(k)
		if err != nil {
			r.T.Fatal(err)
		}
		r.outside(spec)
		if _, ok := spec["location"]; ok {
			spec["location"] = "westeurope" // The emulated Azure knows its places.
		}
		obj := &unstructured.Unstructured{Object: object(k, spec)}
		obj.SetNamespace(r.NS)
		if err := r.C.Create(ctx, obj); err != nil {
			r.T.Logf("%s is refused: %v", k.Type, err)
			continue
		}
		objects = append(objects, obj)
	}
	for _, obj := range objects {
		said := ""
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 15*time.Second, true,
			func(ctx context.Context) (bool, error) {
				err := r.C.Get(ctx, client.ObjectKeyFromObject(obj), obj)
				said = readyOf(obj)
				return strings.HasPrefix(said, "True") || strings.HasPrefix(said, "False Invalid"), err
			})
		if err == nil && strings.HasPrefix(said, "True") {
			n++
		} else {
			r.T.Logf("%s is not Ready: %s (%v)", obj.GroupVersionKind(), said, err)
		}
	}
	for _, obj := range objects {
		if err := r.C.Delete(ctx, obj); err != nil {
			r.T.Error(err)
		}
	}
	for _, obj := range objects {
		testenv.Eventually(r.T, func() error {
			err := r.C.Get(ctx, client.ObjectKeyFromObject(obj), obj)
			if err == nil {
				return fmt.Errorf("%s is left: %s", obj.GroupVersionKind(), readyOf(obj))
			}
			return client.IgnoreNotFound(err)
		})
	}
	if err := packazure.Disable(ctx, r.C, kinds); err != nil {
		r.T.Fatal(err)
	}
	return n
}

// readyOf returns the condition Ready of an object, as "status reason message".
func readyOf(u *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, _ := item.(map[string]any); c["type"] == "Ready" {
			return fmt.Sprintf("%v %v %v", c["status"], c["reason"], c["message"])
		}
	}
	return "no condition"
}

// outside creates the resources that a spec names by ARM ids, with their owners, as another client of Azure would.
func (r *rig) outside(value any) {
	r.T.Helper()
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && key == "name" && strings.HasPrefix(text, "/subscriptions/") {
				id, err := cloud.ParseID(text)
				if err != nil {
					r.T.Fatal(err)
				}
				r.exists(id)
			}
			r.outside(inner)
		}
	case []any:
		for _, inner := range v {
			r.outside(inner)
		}
	}
}

// exists creates a resource and its owners, unless they exist.
func (r *rig) exists(id cloud.ID) {
	r.T.Helper()
	if id.IsTenant() || id.Parent().IsTenant() { // A subscription.
		return
	}
	version := "2020-01-01"
	if known := r.kinds.Default(id.Type()); known != nil {
		version = known.APIVersion
	}
	if _, err := r.other.Get(r.T.Context(), id, version); !cloud.IsMissing(err) {
		return
	}
	r.exists(id.Parent())
	body := map[string]any{"location": "westeurope", "properties": map[string]any{}}
	if _, err := r.other.Put(r.T.Context(), id, version, body, cloud.Condition{}); err != nil {
		r.T.Logf("create %s: %v", id, err)
	}
}
