package contract_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/common/extensions"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// world is one cloud for the tests.
type world struct {
	admin, member *openstack.Scope
	emulated      bool
	extensions    []string
}

// everywhere runs a test against the emulator and, if configured, a real cloud.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("emulator", func(t *testing.T) {
		cloud, err := emulator.Start(emulator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// The first to be registered is the last to run: after all that tests clean up.
		t.Cleanup(func() {
			if left := cloud.Inventory(); len(left) > 0 && !t.Failed() {
				t.Errorf("left behind: %v", left)
			}
			_ = cloud.Close()
		})
		w := newWorld(t, []byte(cloud.CloudsYAML()))
		w.emulated = true
		test(t, w)
	})
	path := os.Getenv("KINSHIP_OPENSTACK_CLOUDS")
	if path == "" {
		return
	}
	t.Run("real", func(t *testing.T) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		test(t, newWorld(t, text))
	})
}

func newWorld(t *testing.T, text []byte) *world {
	t.Helper()
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback})
	scope := func(name string) *openstack.Scope {
		cloud, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: text}, name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := clouds.Scope(t.Context(), cloud)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	w := &world{admin: scope("openstack-admin"), member: scope("openstack")}
	pages, err := extensions.List(client(t, w.admin.Network)).AllPages(t.Context())
	found, err := must2(extensions.ExtractExtensions(pages))(err)
	if err != nil {
		t.Fatal(err)
	}
	for _, extension := range found {
		w.extensions = append(w.extensions, extension.Alias)
	}
	return w
}

// must2 joins the error of a listing with that of its extraction.
func must2[T any](value T, err error) func(error) (T, error) {
	return func(earlier error) (T, error) {
		if earlier != nil {
			return value, earlier
		}
		return value, err
	}
}

func (w *world) has(extension string) bool { return slices.Contains(w.extensions, extension) }

func client(t *testing.T, get func(context.Context) (*gophercloud.ServiceClient, error)) *gophercloud.ServiceClient {
	t.Helper()
	found, err := get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// must returns the value of a call that has to work.
func must[T any](t *testing.T) func(value T, err error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// send makes a request that gophercloud has no function for.
func send(ctx context.Context, c *gophercloud.ServiceClient, method, url string, body, into any) error {
	response, err := c.Request(ctx, method, url, &gophercloud.RequestOpts{
		JSONBody: body, JSONResponse: into, OkCodes: []int{200, 201, 202, 204},
	})
	if response != nil {
		response.Body.Close()
	}
	return err
}

// refused checks the refusal of a request. An empty kind isn't compared: the pack distinguishes
// only Neutron's kinds.
func refused(t *testing.T, err error, status int, kind string, class openstack.Class) {
	t.Helper()
	if err == nil {
		t.Errorf("not refused, want %d %s", status, kind)
		return
	}
	got := openstack.Classify(err)
	if got.Status != status || got.Class != class || (kind != "" && got.Kind != kind) {
		t.Errorf("refused with %d %s (%s): %s\nwant %d %s (%s)",
			got.Status, got.Kind, got.Class, got.Message, status, kind, class)
	}
	if got.Message == "" {
		t.Errorf("refused without a message: %v", err)
	}
}

// gone checks that something is not there.
func gone(t *testing.T, err error) {
	t.Helper()
	if !openstack.IsNotFound(err) {
		t.Errorf("want not found, got %v", err)
	}
}

// later deletes a resource at the end of the test, in any state. A resource that does not exist
// any more is fine.
func later(t *testing.T, what string, remove func(ctx context.Context) error) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := remove(ctx); err != nil && !openstack.IsNotFound(err) {
			t.Errorf("clean up %s: %v", what, err)
		}
	})
}

// soon asks until the answer is yes.
func soon(t *testing.T, what string, ask func() (bool, error)) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for {
		yes, err := ask()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if yes {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		case <-ticker.C:
		}
	}
}

// awaitGone repeats the request until its answer is an error, which must be not found.
func awaitGone(ctx context.Context, ask func() error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := ask(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// unique returns a name that no other run uses.
func unique(prefix string) string { return fmt.Sprintf("contract-%s-%08x", prefix, rand.Uint32()) }
