package iot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/iot"
	"github.com/kinship-dev/kinship/test/operator"
)

func (w *world) provider(kind string) iot.Provider {
	return iot.Provider{Client: w.C, Type: kind}
}

func image(name string) []iotv1alpha1.Container {
	return []iotv1alpha1.Container{{Image: name}}
}

// testSpecCreation is "The Api creates a Spec by first retrieving the current spec
// from AKS and the mutating it", with the order of provisioning.
func testSpecCreation(t *testing.T) {
	w := newWorld(t)
	c := w.connector("abcd1234")
	key := client.ObjectKeyFromObject(c)
	normalization, fhir := w.provider(iot.TypeNormalization), w.provider(iot.TypeFhirConverter)

	// "An IotConnector Provision command is always performed before provisioning of
	// Destination Resources."
	err := fhir.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:1")})
	if !errors.Is(err, iot.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	must(t, normalization.Create(t.Context(), c))
	must(t, normalization.Provision(t.Context(), key, iot.Spec{Name: "normalization", Containers: image("n:1")}))
	must(t, fhir.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:1")}))
	w.ready(c)
	w.consists(c, "normalization", "fhir")

	version := c.ResourceVersion
	must(t, fhir.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:1")}))
	w.ready(c)
	if c.ResourceVersion != version {
		t.Error("what is there already was written once more")
	}
	must(t, fhir.Provision(t.Context(), key, iot.Spec{Name: "fhir", Containers: image("f:2")}))
	err = normalization.Deprovision(t.Context(), key, "fhir")
	if !errors.Is(err, iot.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid: it is not of that type", err)
	}
	// "All child Destinations are deprovisioned before the parent IotConnector."
	err = normalization.Delete(t.Context(), key)
	if !errors.Is(err, iot.ErrInvalid) || !strings.Contains(err.Error(), "it still has fhir of type FhirConverter") {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	must(t, fhir.Deprovision(t.Context(), key, "fhir"))
	if err := fhir.Deprovision(t.Context(), key, "fhir"); !errors.Is(err, iot.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	err = normalization.Provision(t.Context(), key, iot.Spec{Name: "no image", Containers: image("")})
	if !errors.Is(err, iot.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	must(t, normalization.Delete(t.Context(), key))
	w.Gone(c)
}

// testNewType is "No longer need new Go code when a new Destination type is added."
func testNewType(t *testing.T) {
	w := newWorld(t)
	c := w.connector("c")
	must(t, w.provider("Whatever").Create(t.Context(), c))
	must(t, w.provider("Whatever").Provision(t.Context(), client.ObjectKeyFromObject(c),
		iot.Spec{Name: "new", Containers: image("w:1")}))
	w.ready(c)
	w.consists(c, "new")
}

// testProvisionUpgrades is "If the current version of an existing IotConnecter is
// at V0 the RP Worker will first perform the mutation steps", with the name "set
// to the Internal Service name of the resource being deployed".
func testProvisionUpgrades(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	storage := w.provider(iot.TypeStorageDestination)
	storage.Names = map[string]string{iot.TypeNormalization: "n-service", iot.TypeFhirConverter: "f-service"}
	must(t, storage.Provision(t.Context(), client.ObjectKeyFromObject(c),
		iot.Spec{Name: "storage", Containers: image("s:1")}))
	w.ready(c)
	w.consists(c, "n-service", "f-service", "storage")
}

// testConcurrentDeprovision is "our current deprovisioning flow can deprovision
// multiple Destinations at a time".
func testConcurrentDeprovision(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("normalization", "Normalization"))
	for i := range 8 {
		c.Spec.Deployments = append(c.Spec.Deployments, entry(fmt.Sprintf("d%d", i), "FhirConverter"))
	}
	w.Create(c)
	w.ready(c)
	before := w.pods("normalization")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			err := w.provider(iot.TypeFhirConverter).Deprovision(t.Context(), client.ObjectKeyFromObject(c), fmt.Sprintf("d%d", i))
			if err != nil {
				t.Errorf("d%d: %v", i, err)
			}
		})
	}
	group.Wait()
	w.ready(c)
	w.consists(c, "normalization")
	if after := w.pods("normalization"); !slices.Equal(before, after) {
		t.Errorf("Pods %v, before %v", after, before)
	}
}

// testCommands goes through the commands once.
func testCommands(t *testing.T) {
	w := newWorld(t)
	c := w.version0("clinic")
	w.Create(c)
	w.ready(c)
	main := func(args ...string) (int, string) {
		var out bytes.Buffer
		args = append([]string{"kinship", "iot"}, append(args, "--kubeconfig", testenv.Kubeconfig(t), "--namespace", w.NS)...)
		return cli.Main(t.Context(), "test", args, nil, &out, &out), out.String()
	}
	run := func(args ...string) string {
		code, out := main(args...)
		if code != 0 {
			t.Fatalf("%v: code %d: %s", args, code, out)
		}
		w.ready(c)
		return out
	}
	fail := func(args ...string) string {
		code, out := main(args...)
		if code == 0 {
			t.Errorf("%v: it is done: %s", args, out)
		}
		return out
	}
	for want, args := range map[string][]string{
		"it still has container fhirconverter of type FhirConverter": {"deprovision", "clinic", "--type", "Normalization", "--all"},
		"give either --name, or --all":                               {"deprovision", "clinic", "--type", "Normalization"},
		"IotConnector typo: not found": {
			"provision", "typo", "--type", "FhirConverter", "--name", "x", "--image", "i",
		},
	} {
		if text := fail(args...); !strings.Contains(text, want) {
			t.Errorf("%v: %s, want %s", args, text, want)
		}
	}
	run("upgrade", "clinic")
	w.consists(c, "clinic-normalization", "clinic-fhirconverter")
	run("rollback", "clinic")
	w.consists(c, "clinic")
	run("provision", "clinic", "--type", "StorageDestination", "--name", "s1", "--image", "s:1", "--env", "A=b=c")
	w.consists(c, "clinic-normalization", "clinic-fhirconverter", "s1")
	if v := c.Spec.Deployments[2].Containers[0].EnvironmentVariables[0]; v.Name != "A" || v.Value != "b=c" {
		t.Errorf("variable %v", v)
	}
	status := run("status", "clinic")
	for _, want := range []string{"IotConnector clinic, version 1, Available", "A rollback", "StorageDestination"} {
		if !strings.Contains(status, want) {
			t.Errorf("status %q lacks %q", status, want)
		}
	}
	run("deprovision", "clinic", "--type", "StorageDestination", "--name", "s1")
	w.consists(c, "clinic-normalization", "clinic-fhirconverter")
}

// testQuestions: the plugin shows the composed objects of a connector, each once, and who
// removes its finalizer.
func testQuestions(t *testing.T) {
	w := newWorld(t)
	c := w.version1("c", entry("a", "Normalization"))
	w.Create(c)
	w.ready(c)
	ask := func(args ...string) string {
		var out bytes.Buffer
		args = append(append([]string{"kinship"}, args...), "--kubeconfig", testenv.Kubeconfig(t), "--namespace", w.NS)
		if code := cli.Main(t.Context(), "test", args, nil, &out, &out); code != 0 {
			t.Fatalf("%v: code %d: %s", args, code, out.String())
		}
		return out.String()
	}
	tree := ask("tree", "iotconnector/c")
	for _, part := range []string{"─ Deployment.apps/a ", "─ ServiceAccount/c "} {
		if n := strings.Count(tree, part); n != 1 {
			t.Errorf("%s is there %d times in\n%s", part, n, tree)
		}
	}
	for _, word := range []string{"protects", "for IotConnector", "composed by"} {
		if strings.Contains(tree, word) {
			t.Errorf("it says %q:\n%s", word, tree)
		}
	}
	if users := ask("who-uses", "deployment/a"); !strings.Contains(users, "Nothing uses Deployment.apps/a") {
		t.Errorf("who-uses says: %s", users)
	}
	change(w, w.deployment("a"), func(d *appsv1.Deployment) { d.Finalizers = append(d.Finalizers, "example.com/hold") })
	w.Delete(c)
	w.until(c, "Ready", metav1.ConditionFalse, "Deleting")
	why := ask("why", "iotconnector/c")
	if !strings.Contains(why, "the operator removes it when every composed object is deleted") ||
		!strings.Contains(why, "example.com/hold") {
		t.Errorf("why says: %s", why)
	}
	change(w, w.deployment("a"), func(d *appsv1.Deployment) {
		d.Finalizers = slices.DeleteFunc(d.Finalizers, func(f string) bool { return f == "example.com/hold" })
	})
	w.Gone(c)
}

// must fails the test at the first error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentClients has 32 clients add and remove destinations of one connector, 1,000
// times (100 with the race detector), while the API server restarts once. No destination is
// lost or doubled, and the Deployments equal the final spec.
func TestConcurrentClients(t *testing.T) {
	operator.Start(t)
	w := newWorld(t)
	c := w.version1("c", entry("normalization", "Normalization"))
	w.Create(c)
	const clients = 32
	operations := int64(testenv.Many(1000))
	var left, done atomic.Int64
	left.Store(operations)
	final := make([]bool, clients)
	restart, begun := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			p := w.provider(iot.TypeEventhubDestination)
			p.Deadline = 2 * time.Minute
			name := fmt.Sprintf("d%d", i)
			for left.Add(-1) >= 0 {
				if err := toggle(t.Context(), p, client.ObjectKeyFromObject(c), name, final[i]); err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				final[i] = !final[i]
				switch n := done.Add(1); {
				case n == operations/2:
					close(restart)
					<-begun
				case n > operations/2: // The others come while the API server restarts.
					<-begun
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		group.Wait()
		close(finished)
	}()
	begin := time.Now()
	select {
	case <-restart:
	case <-finished:
		t.Fatal("all clients ended before half of the operations were done")
	}
	close(begun)
	if err := testenv.Cluster(t).RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-finished
	t.Logf("%d operations of %d clients in %s", done.Load(), clients, time.Since(begin).Round(time.Millisecond))
	want := []string{"normalization"}
	for i, there := range final {
		if there {
			want = append(want, fmt.Sprintf("d%d", i))
		}
	}
	w.ready(c)
	got := make([]string, 0, len(want))
	for i := range c.Spec.Deployments {
		got = append(got, iot.NameOf(c.Name, &c.Spec.Deployments[i]))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the spec has %v, want %v", got, want)
	}
	w.consists(c, want...)
}

// toggle removes an existing destination, and adds a missing one.
func toggle(ctx context.Context, p iot.Provider, key client.ObjectKey, name string, there bool) error {
	if there {
		return p.Deprovision(ctx, key, name)
	}
	return p.Provision(ctx, key, iot.Spec{Name: name, Containers: image("example.com/d:1")})
}
