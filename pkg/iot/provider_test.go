package iot_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/iot"
)

// world has the IotConnector clinic in a namespace of a test.
type world struct {
	testenv.World
	key client.ObjectKey
}

// newWorld creates an IotConnector with the entries NAME:TYPE, or with the container NAME:TYPE for an entry
// that begins with "0 ".
func newWorld(t *testing.T, entries ...string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := iotv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	w := &world{World: testenv.NewWorld(t, testenv.Client(t, scheme))}
	w.key = client.ObjectKey{Namespace: w.NS, Name: "clinic"}
	w.create(entries...)
	return w
}

func (w *world) create(entries ...string) {
	w.T.Helper()
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Name: w.key.Name}}
	one := iotv1alpha1.Version1
	for _, text := range entries {
		if old, isOld := strings.CutPrefix(text, "0 "); isOld {
			c.Spec.Containers = append(c.Spec.Containers, containers(old)...)
			continue
		}
		name, kind, _ := strings.Cut(text, ":")
		c.Spec.Deployments = append(c.Spec.Deployments, iotv1alpha1.Deployment{
			Name: name, Type: kind, Containers: containers(":" + kind),
		})
	}
	if len(c.Spec.Containers) == 0 {
		c.Spec.Version = &one
	}
	w.Create(c)
}

// connector reads the IotConnector.
func (w *world) connector() *iotv1alpha1.IotConnector {
	w.T.Helper()
	c := &iotv1alpha1.IotConnector{}
	if err := w.C.Get(w.T.Context(), w.key, c); err != nil {
		w.T.Fatal(err)
	}
	return c
}

// entries returns the entries NAME:TYPE of the IotConnector, with the images of the containers.
func (w *world) entries() []string {
	w.T.Helper()
	c := w.connector()
	all := make([]string, 0, len(c.Spec.Deployments))
	for i := range c.Spec.Deployments {
		d := &c.Spec.Deployments[i]
		text := iot.NameOf(c.Name, d) + ":" + iot.TypeOf(d)
		for _, container := range d.Containers {
			text += " " + container.Type + "=" + container.Image
		}
		all = append(all, text)
	}
	return all
}

func (w *world) provider(kind string) iot.Provider { return iot.Provider{Client: w.C, Type: kind} }

// check compares an error with a text, and an error of the package that errors.Is must find.
func check(t *testing.T, err, is error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v", err)
	case want != "" && (!errors.Is(err, is) || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %v with %q", err, is, want)
	}
}

// TestProvision: each case begins with the entries a and b.
func TestProvision(t *testing.T) {
	const a, b = "a:Normalization Normalization=image:1", "b:FhirConverter FhirConverter=image:1"
	cases := map[string]struct {
		kind   string
		spec   iot.Spec
		want   []string
		writes bool
		is     error
		err    string
	}{
		"a new entry": {
			"Whatever",
			iot.Spec{Name: "c", Containers: containers("x:", "y:Sidecar")},
			[]string{a, b, "c:Whatever Whatever=image:1 Sidecar=image:1"},
			true, nil, "",
		},
		"a changed entry": {
			"Normalization",
			iot.Spec{Name: "a", Containers: containers("x:Other")},
			[]string{"a:Normalization Other=image:1", b},
			true, nil, "",
		},
		"the same entry": {"FhirConverter", iot.Spec{Name: "b", Containers: containers(":")}, []string{a, b}, false, nil, ""},
		"of another type": {
			"Whatever",
			iot.Spec{Name: "b", Containers: containers(":")},
			nil, false, iot.ErrInvalid,
			"b is of type FhirConverter, and this provider is for Whatever",
		},
		"without a name": {
			"Whatever", iot.Spec{Containers: containers(":")}, nil, false, iot.ErrInvalid, "a name and containers are needed",
		},
		"without an image": {
			"Whatever",
			iot.Spec{Name: "c"},
			nil, false, iot.ErrInvalid,
			"a name and containers are needed",
		},
		"a reserved name": {
			"Whatever",
			iot.Spec{Name: "clinic", Containers: containers(":")},
			nil, false, iot.ErrInvalid,
			"IotConnector clinic: spec.deployments[2] comes to the name \"clinic\", which is the IotConnector's own",
		},
		"a name that the API server refuses": {
			"Whatever",
			iot.Spec{Name: "No Name", Containers: containers(":")},
			nil, false, iot.ErrInvalid,
			"spec.deployments[2].name",
		},
	}
	w := newWorld(t)
	w.Delete(w.connector())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.create("a:Normalization", "b:FhirConverter")
			defer func() { w.Delete(w.connector()) }()
			before := w.connector().ResourceVersion
			check(t, w.provider(c.kind).Provision(t.Context(), w.key, c.spec), c.is, c.err)
			if c.want == nil {
				c.want = []string{a, b}
			}
			if diff := cmp.Diff(c.want, w.entries()); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if wrote := w.connector().ResourceVersion != before; wrote != c.writes {
				t.Errorf("wrote %t, want %t", wrote, c.writes)
			}
		})
	}
	check(t, w.provider("X").Provision(t.Context(), w.key, iot.Spec{Name: "c", Containers: containers(":")}),
		iot.ErrNotFound, "IotConnector clinic: not found")
}

// TestProvisionKeepsReplicas: the number of Pods and the resources of a Spec are those of the entry, and the
// containers of the caller stay as before.
func TestProvisionKeepsReplicas(t *testing.T) {
	w := newWorld(t)
	replicas, of := int32(3), containers("x:")
	spec := iot.Spec{Name: "a", Containers: of, Replicas: &replicas}
	check(t, w.provider("X").Provision(t.Context(), w.key, spec), nil, "")
	if got := w.connector().Spec.Deployments[0].Replicas; got == nil || *got != 3 {
		t.Errorf("replicas are %v, want 3", got)
	}
	if of[0].Type != "" {
		t.Errorf("the container of the caller has the type %s now", of[0].Type)
	}
	spec.Replicas = nil
	check(t, w.provider("X").Provision(t.Context(), w.key, spec), nil, "")
	if got := w.connector().Spec.Deployments[0].Replicas; got != nil {
		t.Errorf("replicas are %d, and an autoscaler is to decide", *got)
	}
}

// TestProvisionDeleted: an IotConnector that is being deleted gets no entry, and loses one on request.
func TestProvisionDeleted(t *testing.T) {
	w := newWorld(t, "a:X")
	c := w.connector()
	w.Update(c, func() { c.Finalizers = []string{"example.com/stay"} })
	w.Delete(c)
	check(t, w.provider("X").Provision(t.Context(), w.key, iot.Spec{Name: "b", Containers: containers(":")}),
		iot.ErrInvalid, "provision: it is being deleted")
	check(t, w.provider("X").Deprovision(t.Context(), w.key, "a"), nil, "")
	if got := w.entries(); len(got) > 0 {
		t.Errorf("entries %v", got)
	}
	w.Update(c, func() { c.Finalizers = nil })
}

// TestVersion0: an operation upgrades an IotConnector of version 0, if the operation has anything to write.
func TestVersion0(t *testing.T) {
	const n, f = "0 :Normalization", "0 :FhirTransformation"
	const upgraded = "clinic-normalization:Normalization Normalization=image:1"
	names := map[string]string{iot.TypeFhirConverter: "fhir"}
	cases := map[string]struct {
		kind string
		do   func(context.Context, iot.Provider, client.ObjectKey) error
		want []string // nil if version 0 stays
		is   error
		err  string
	}{
		"provision": {
			"X", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Provision(ctx, key, iot.Spec{Name: "x", Containers: containers(":")})
			}, []string{upgraded, "fhir:FhirConverter FhirTransformation=image:1", "x:X X=image:1"}, nil, "",
		},
		"deprovision": {
			"FhirConverter", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Deprovision(ctx, key, "fhir")
			}, []string{upgraded}, nil, "",
		},
		"deprovision by the older type": {
			"FhirTransformation", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Deprovision(ctx, key, "fhir")
			}, []string{upgraded}, nil, "",
		},
		"deprovision of another": {
			"X", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Deprovision(ctx, key, "none")
			}, nil, iot.ErrNotFound, "deployment none of IotConnector clinic: not found",
		},
		"upgrade": {
			"X", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return errors.Join(p.UpgradeConnector(ctx, key), p.UpgradeConnector(ctx, key))
			}, []string{upgraded, "fhir:FhirConverter FhirTransformation=image:1"}, nil, "",
		},
		"upgrade and rollback": {
			"X", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return errors.Join(p.UpgradeConnector(ctx, key), p.RollbackConnector(ctx, key))
			}, nil, nil, "",
		},
		"rollback alone": {
			"X", func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.RollbackConnector(ctx, key)
			}, nil, iot.ErrInvalid, "IotConnector clinic: roll back: there is no previous spec",
		},
	}
	w := newWorld(t)
	w.Delete(w.connector())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.create(n, f)
			defer func() { w.Delete(w.connector()) }()
			p := w.provider(c.kind)
			p.Names = names
			check(t, c.do(t.Context(), p, w.key), c.is, c.err)
			got := w.connector()
			if c.want == nil {
				if diff := cmp.Diff(containers(":Normalization", ":FhirTransformation"), got.Spec.Containers); diff != "" {
					t.Errorf("containers (-want +got):\n%s", diff)
				}
				return
			}
			if diff := cmp.Diff(c.want, w.entries()); diff != "" || len(got.Spec.Containers) > 0 {
				t.Errorf("containers %v, entries (-want +got):\n%s", got.Spec.Containers, diff)
			}
		})
	}
}

// TestDeprovision: only the named entry of the type goes, also the last one.
func TestDeprovision(t *testing.T) {
	w := newWorld(t, "a:X", "b:Y", "c:X")
	check(t, w.provider("X").Deprovision(t.Context(), w.key, "b"), iot.ErrInvalid,
		"b is of type Y, and this provider is for X")
	check(t, w.provider("X").Deprovision(t.Context(), w.key, "none"), iot.ErrNotFound, "deployment none")
	check(t, w.provider("X").Deprovision(t.Context(), w.key, "a"), nil, "")
	if diff := cmp.Diff([]string{"b:Y Y=image:1", "c:X X=image:1"}, w.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	check(t, w.provider("Y").Deprovision(t.Context(), w.key, "b"), nil, "")
	check(t, w.provider("X").Deprovision(t.Context(), w.key, "c"), nil, "")
	if c := w.connector(); len(c.Spec.Deployments) > 0 || c.Spec.EffectiveVersion() != iotv1alpha1.Version1 {
		t.Errorf("the spec is %+v", c.Spec)
	}
}

// TestCreate: an IotConnector that exists is left as before.
func TestCreate(t *testing.T) {
	w := newWorld(t, "0 a:Normalization")
	fresh := func(name string) *iotv1alpha1.IotConnector {
		return &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	}
	check(t, w.provider("X").Create(t.Context(), fresh("clinic")), nil, "")
	if c := w.connector(); len(c.Spec.Containers) != 1 || c.Spec.EffectiveVersion() != iotv1alpha1.Version0 {
		t.Errorf("the spec is %+v", c.Spec)
	}
	check(t, w.provider("X").Create(t.Context(), fresh("other")), nil, "")
	w.key.Name = "other"
	if c := w.connector(); c.Spec.EffectiveVersion() != iotv1alpha1.Version1 {
		t.Errorf("the new one is of version %d", c.Spec.EffectiveVersion())
	}
	check(t, w.provider("X").Create(t.Context(), fresh("No Name")), iot.ErrInvalid, "IotConnector No Name: ")
}

// TestDelete: an IotConnector goes last.
func TestDelete(t *testing.T) {
	cases := map[string]struct {
		entries []string
		want    string // empty if the IotConnector is deleted
	}{
		"empty":                {nil, ""},
		"the last of the type": {[]string{"a:Normalization"}, ""},
		"two of the type": {
			[]string{"a:Normalization", "b:Normalization"},
			"it still has b of type Normalization, which goes first",
		},
		"another type": {
			[]string{"a:Normalization", "b:FhirTransformation"},
			"it still has b of type FhirConverter, which goes first",
		},
		"another type alone": {[]string{"b:X"}, "it still has b of type X, which goes first"},
		"of version 0":       {[]string{"0 a:Normalization"}, ""},
		"another of version 0": {
			[]string{"0 :FhirTransformation"},
			"it still has container fhirconverter of type FhirConverter",
		},
		"both kinds of version": {
			[]string{"0 a:Normalization", "0 b:FhirConverter"},
			"it still has container b of type FhirConverter",
		},
	}
	w := newWorld(t)
	normalization := w.provider(iot.TypeNormalization)
	check(t, normalization.Delete(t.Context(), w.key), nil, "")
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w.create(c.entries...)
			check(t, normalization.Delete(t.Context(), w.key), iot.ErrInvalid, c.want)
			if c.want != "" {
				w.Delete(w.connector())
			}
			check(t, normalization.Delete(t.Context(), w.key), iot.ErrNotFound, "IotConnector clinic: not found")
		})
	}
}

// TestDeleteRace: an IotConnector that gets an entry after it was read is not deleted.
func TestDeleteRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deletes, p := 0, w.provider(iot.TypeNormalization)
	p.Client = interceptor.NewClient(w.C, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if deletes++; deletes == 1 {
				check(t, w.provider("X").Provision(ctx, w.key, iot.Spec{Name: "x", Containers: containers(":")}), nil, "")
			}
			return c.Delete(ctx, obj, opts...)
		},
	})
	check(t, p.Delete(t.Context(), w.key), iot.ErrInvalid, "it still has x of type X")
	if deletes != 1 || w.connector().DeletionTimestamp != nil {
		t.Errorf("%d requests, and the IotConnector is being deleted", deletes)
	}
}

// breaking returns a provider whose next answer to each of some methods breaks off after the API server has
// carried out the request. then, if set, is called before anybody learns of the failure.
func (w *world) breaking(kind string, then func(), methods ...string) (iot.Provider, *breaks) {
	w.T.Helper()
	b := &breaks{then: then, once: map[string]bool{}}
	for _, method := range methods {
		b.once[method] = true
	}
	config := testenv.Config(w.T)
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		b.base = base
		return b
	})
	return iot.Provider{Client: testenv.ClientFor(w.T, config, w.C.Scheme()), Type: kind}, b
}

// TestBrokenAnswer: a request whose answer breaks off is repeated, and has one effect.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(context.Context, iot.Provider, client.ObjectKey) error
		want []string
	}{
		"provision": {
			func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Provision(ctx, key, iot.Spec{Name: "b", Containers: containers(":")})
			}, []string{"a:X X=image:1", "b:X X=image:1"},
		},
		"deprovision": {
			func(ctx context.Context, p iot.Provider, key client.ObjectKey) error {
				return p.Deprovision(ctx, key, "a")
			},
			[]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "a:X")
			p, broken := w.breaking("X", nil, http.MethodGet, http.MethodPut)
			check(t, c.do(t.Context(), p, w.key), nil, "")
			if diff := cmp.Diff(c.want, w.entries()); diff != "" || len(broken.once) > 0 {
				t.Errorf("%d answers did not break off; entries (-want +got):\n%s", len(broken.once), diff)
			}
		})
	}
}

// TestProvisionedBetween: the answer to a removal breaks off, and before the removal is repeated, another client
// provisions the removed entry. This entry is kept.
func TestProvisionedBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "a:X")
	second := containers(":")
	second[0].Image = "image:2"
	p, _ := w.breaking("X", func() {
		check(t, w.provider("X").Provision(t.Context(), w.key, iot.Spec{Name: "a", Containers: second}), nil, "")
	}, http.MethodPut)
	check(t, p.Deprovision(t.Context(), w.key, "a"), nil, "")
	if diff := cmp.Diff([]string{"a:X X=image:2"}, w.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	check(t, p.Deprovision(t.Context(), w.key, "a"), nil, "") // A second call is intended.
	if got := w.entries(); len(got) > 0 {
		t.Errorf("entries %v", got)
	}
}

// TestTogether: providers that change one IotConnector at the same time lose no entry.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gone:X")
	want := map[string]bool{}
	var running sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("n%d", i)
		want[name+":X X=image:1"] = true
		running.Go(func() {
			check(t, w.provider("X").Provision(t.Context(), w.key, iot.Spec{Name: name, Containers: containers(":")}), nil, "")
		})
	}
	running.Go(func() { check(t, w.provider("X").Deprovision(t.Context(), w.key, "gone"), nil, "") })
	running.Wait()
	got := map[string]bool{}
	for _, entry := range w.entries() {
		got[entry] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// breaks is a RoundTripper that breaks off answers in the middle. Requests for other kinds are not affected.
type breaks struct {
	base http.RoundTripper
	then func()

	mu   sync.Mutex
	once map[string]bool // the methods whose next answer breaks off
}

// RoundTrip implements http.RoundTripper.
func (b *breaks) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.base.RoundTrip(request)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || !strings.Contains(request.URL.Path, "/iotconnectors/") || !b.once[request.Method] {
		return response, err
	}
	delete(b.once, request.Method)
	if b.then != nil {
		b.then()
	}
	whole, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // The body was read to its end.
	if err != nil {
		return nil, err
	}
	half := bytes.NewReader(whole[:len(whole)/2])
	response.Body = io.NopCloser(io.MultiReader(half, iotest.ErrReader(syscall.ECONNRESET)))
	return response, nil
}
