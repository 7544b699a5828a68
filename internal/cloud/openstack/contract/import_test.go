package contract_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/imageimport"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

// phase is the state of an import as the image shows it.
type phase struct {
	status string
	// task says that a task works on the import, stores that a task has begun.
	task, stores bool
}

// Phases of an image, in order. The image is queued with a task from the answer to POST import,
// and the task stays after its work is done.
var (
	accepted  = phase{"queued", true, false}
	importing = phase{"importing", true, true}
	filling   = phase{"active", true, true}
	filled    = phase{"active", false, true}
	undoing   = phase{"queued", true, true}
	undone    = phase{"queued", false, true}
)

// TestImageImport: from the acceptance of an import until its end, the image shows the import.
// No second import is accepted meanwhile.
func TestImageImport(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		c, site := client(t, w.member.Image), website(t, w.emulated)
		for path, phases := range map[string][]phase{
			"/disk":    {accepted, importing, filling, filled},
			"/missing": {accepted, importing, undoing, undone},
		} {
			t.Run(path, func(t *testing.T) {
				made := makeImage(t, c, images.CreateOpts{Name: unique("import")})
				ask := func() error {
					return imageimport.Create(t.Context(), c, made.ID, imageimport.CreateOpts{
						Name: imageimport.WebDownloadMethod, URI: site + path,
					}).ExtractErr()
				}
				if err := ask(); err != nil {
					t.Fatal(err)
				}
				seen := []phase{phaseOf(t, c, made.ID)}
				if seen[0].task {
					refused(t, ask(), http.StatusConflict, "", openstack.Busy)
				}
				last := phases[len(phases)-1]
				soon(t, "the import ends", func() (bool, error) {
					seen = append(seen, phaseOf(t, c, made.ID))
					return seen[len(seen)-1] == last, nil
				})
				if !inOrder(phases, seen) {
					t.Errorf("went through %+v, want some of %+v, in that order", seen, phases)
				}
				if last == filled {
					refused(t, ask(), http.StatusConflict, "", openstack.Busy)
				}
			})
		}
	})
}

// inOrder reports whether all that was seen is known, and nothing was seen twice with
// something else in between.
func inOrder(phases, seen []phase) bool {
	at := 0
	for _, p := range seen {
		i := slices.Index(phases, p)
		if i < at {
			return false
		}
		at = i
	}
	return true
}

// phaseOf asks for an image.
func phaseOf(t *testing.T, c *gophercloud.ServiceClient, id string) phase {
	t.Helper()
	var fields map[string]any
	if err := send(t.Context(), c, http.MethodGet, c.ServiceURL("images", id), nil, &fields); err != nil {
		t.Fatal(err)
	}
	status, _ := fields["status"].(string)
	_, task := fields["os_glance_import_task"]
	_, stores := fields["os_glance_importing_to_stores"]
	return phase{status, task, stores}
}

// website serves only /disk, at an address from which the cloud downloads images. A real Glance
// downloads from one port of the loopback interface.
func website(t *testing.T, emulated bool) string {
	t.Helper()
	port := "0"
	if !emulated {
		port = cmp.Or(os.Getenv("GLANCE_WEB_PORT"), "18999")
	}
	var config net.ListenConfig
	listener, err := config.Listen(context.WithoutCancel(t.Context()), "tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/disk" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", "7") // Without which Glance of Zed fails.
		_, _ = io.WriteString(w, "content")
	}))
	_ = s.Listener.Close() // Its own port is not needed.
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
