package openstack_test

import (
	"cmp"
	"fmt"
	"maps"
	stdnet "net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// webPort is from where the Glance of hack/openstack downloads images.
var webPort = cmp.Or(os.Getenv("GLANCE_WEB_PORT"), "18999")

// TestStory takes a network through its life on the emulator, and an object of each
// kind that they carry on the services of KINSHIP_OPENSTACK_CLOUDS, one after the
// other: they have one cloud for all. `make test-openstack` has some.
func TestStory(t *testing.T) {
	operator.Start(t, only)
	t.Run("emulator", func(t *testing.T) { scenarios[0].story(newWorld(t)) })
	path := os.Getenv("KINSHIP_OPENSTACK_CLOUDS")
	if path == "" {
		return
	}
	clouds, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	image := serveDisk(t)
	stories := everywhere()
	maps.Copy(stories, map[string]func(*world){
		"RoleAssignment": userOnProject.together, "RoleAssignment of a group": groupOnDomain.together,
		"ApplicationCredential": credential.together, "five Servers": fiveServers,
	})
	for _, s := range slices.Concat(scenarios, more, identities, sizes, images, volumes, machines) {
		stories[s.kind] = s.story
	}
	delete(stories, "ShareNetwork") // hack/openstack has no Manila.
	for name, story := range stories {
		t.Run("real "+name, func(t *testing.T) {
			w := worldOf(t, string(clouds), nil)
			w.image = image
			t.Cleanup(w.tidyUp)
			story(w)
		})
	}
}

// fiveServers tells how long it takes until five servers serve.
func fiveServers(w *world) {
	w.t.Helper()
	w.apply(flavor, cirros)
	w.available("Flavor", "flavor")
	w.available("Image", "cirros")
	var names, all []string
	for i := range 5 {
		names = append(names, fmt.Sprintf("server%d", i))
		all = append(all, managed("Server", names[i], "{flavorRef: flavor, imageRef: cirros, ports: []}"))
	}
	begin := time.Now()
	w.apply(all...)
	w.available("Server", names...)
	w.t.Logf("5 Servers are Available after %s", time.Since(begin).Round(10*time.Millisecond))
}

// serveDisk serves images where a real Glance may get them.
func serveDisk(t *testing.T) string {
	t.Helper()
	listener, err := stdnet.Listen("tcp", "127.0.0.1:"+webPort)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(disk))) // Glance of Zed fails without.
		_, _ = w.Write(disk)                                      // Who has gone is his own business.
	}))
	_ = s.Listener.Close() // Its own port is not needed.
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/disk"
}

// story is the life of one object: it waits for what it refers to, holds it, serves, is
// changed and changed back, imported, deleted by somebody else, and goes. What can't be
// imported is told.
func (s *scenario) story(w *world) {
	w.t.Helper()
	s.together(w)
	s.prepare(w)
	w.apply(managed(s.kind, "it", s.minimal))
	w.available(s.kind, "it")
	if s.edit != "" {
		s.change(w)
	}
	s.importTwice(w)
	s.replace(w)
	s.goes(w)
	s.importError(w)
}

// pathless are collections whose resources have addresses of other forms.
var pathless = []string{"identity/role_assignments", "identity/application_credentials"}

// goes deletes the object, and its resource with it.
func (s *scenario) goes(w *world) {
	w.t.Helper()
	var id string
	if !slices.Contains(pathless, s.collection) {
		id = w.id(s.kind, "it")
	}
	w.delete(s.kind, "it")
	w.gone(s.kind, "it")
	if w.there(s.collection, id) {
		w.t.Errorf("%s %s is left in the cloud", s.kind, id)
	}
}

// together applies an object before what it refers to, and has that go before it.
func (s *scenario) together(w *world) {
	w.t.Helper()
	w.apply(managed(s.kind, "it", s.full))
	if len(s.waits) > 0 {
		w.has(s.kind, "it", "Progressing", missing(s.waits))
	}
	w.apply(s.needs...)
	w.available(s.kind, "it")
	if len(s.shows) > 0 {
		w.reports(s.kind, "it", s.shows)
	}
	s.holds(w)
	s.goes(w)
	for _, g := range s.guards {
		w.gone(g[0], g[1])
	}
}

// importTwice imports the object's resource a second time, by name and by id.
func (s *scenario) importTwice(w *world) {
	w.t.Helper()
	id := w.id(s.kind, "it")
	imports := map[string]string{"by-id": fmt.Sprintf("{id: %q}", id)}
	if !s.nameless {
		imports["by-name"] = fmt.Sprintf(byName, "it")
	}
	for name, how := range imports {
		w.apply(imported(s.kind, name, how))
		w.available(s.kind, name)
		if got := w.id(s.kind, name); got != id {
			w.t.Errorf("%s has imported %s, want %s", name, got, id)
		}
		w.delete(s.kind, name)
		w.gone(s.kind, name)
	}
	if !w.there(s.collection, id) {
		w.t.Errorf("%s %s went with an import", s.kind, id)
	}
}

// replace has somebody else delete the resource, and another one be made.
func (s *scenario) replace(w *world) {
	w.t.Helper()
	id := w.id(s.kind, "it")
	w.deleteOutside(s.collection, id)
	testenv.Eventually(w.t, func() error {
		if w.there(s.collection, id) {
			return fmt.Errorf("%s is still there", id)
		}
		return nil
	})
	w.edit(s.kind, "it", `{"spec":{"resyncPeriod":"1s"}}`)
	testenv.Eventually(w.t, func() error {
		u := w.get(s.kind, "it")
		now, _, err := unstructured.NestedString(u.Object, "status", "id")
		if progressing, _ := find(u, "Progressing"); progressing != isUpToDate || !w.there(s.collection, now) {
			return cmp.Or(err, fmt.Errorf("%s/it has id %s, was %s; Progressing: %v", s.kind, now, id, progressing))
		}
		return nil
	})
	w.edit(s.kind, "it", `{"spec":{"resyncPeriod":null}}`)
}

// there asks the cloud, as an administrator, whether it has a resource.
func (w *world) there(collection, id string) bool {
	w.t.Helper()
	if id == "" {
		return false
	}
	c, address := w.address(collection, id)
	var err error
	testenv.Eventually(w.t, func() error {
		if err = kit.Call(w.t.Context(), c, http.MethodGet, address, nil, &struct{}{}); openstack.IsNotFound(err) {
			return nil
		}
		return err
	})
	return err == nil
}
