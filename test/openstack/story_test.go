package openstack_test

import (
	"cmp"
	"fmt"
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

// TestStory deletes and changes resources outside of Kubernetes: a network on the emulator, and
// a resource of each kind on the services of KINSHIP_OPENSTACK_CLOUDS, one after the other,
// because all use one cloud. `make test-openstack` runs some, and TestScenarios runs the rest.
func TestStory(t *testing.T) {
	operator.Start(t, only)
	t.Run("emulator", func(t *testing.T) { scenarios[0].story(newWorld(t)) })
	clouds := realClouds(t)
	if clouds == "" {
		return
	}
	image := serveDisk(t)
	stories := everywhere()
	stories["five Servers"] = fiveServers
	for _, s := range slices.Concat(scenarios, more, identities, sizes, images, volumes, machines) {
		stories[s.kind+" external-deletion"], stories[s.kind+" taken away"] = s.story, s.takenAway
	}
	delete(stories, "ShareNetwork external-deletion") // hack/openstack has no Manila.
	delete(stories, "ShareNetwork taken away")
	for name, story := range stories {
		t.Run("real "+name, func(t *testing.T) {
			w := worldOf(t, clouds, nil)
			w.image = image
			t.Cleanup(w.tidyUp)
			story(w)
		})
	}
}

// realClouds returns the clouds.yaml of KINSHIP_OPENSTACK_CLOUDS, or nothing if there are no
// real services.
func realClouds(t *testing.T) string {
	t.Helper()
	path := os.Getenv("KINSHIP_OPENSTACK_CLOUDS")
	if path == "" {
		return ""
	}
	clouds, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(clouds)
}

// fiveServers measures the time until five servers are available.
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

// serveDisk serves images at an address that a real Glance can reach.
func serveDisk(t *testing.T) string {
	t.Helper()
	listener, err := stdnet.Listen("tcp", "127.0.0.1:"+webPort)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(disk))) // Glance of Zed fails without.
		_, _ = w.Write(disk)                                      // A client may close the connection.
	}))
	_ = s.Listener.Close() // Its own port is not needed.
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/disk"
}

// story is the end of one object: its resource is deleted in the cloud, another resource is
// created, and is deleted with the object.
func (s *scenario) story(w *world) {
	w.t.Helper()
	s.prepare(w)
	w.apply(managed(s.kind, "it", s.minimal))
	w.available(s.kind, "it")
	s.replace(w)
	s.goes(w)
}

// goes deletes the object, and its resource with it.
func (s *scenario) goes(w *world) {
	w.t.Helper()
	id := w.id(s.kind, "it")
	w.delete(s.kind, "it")
	w.gone(s.kind, "it")
	if w.there(s.collection, id) {
		w.t.Errorf("%s %s is left in the cloud", s.kind, id)
	}
}

// replace deletes the resource in the cloud, and waits for a new resource.
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

// there reads a resource from the cloud, as an administrator, and reports whether it exists.
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
