package emulator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// picture is an image as Glance shows it.
type picture struct {
	ID     string
	Status string
	Size   int
	Task   string `json:"os_glance_import_task"`
	// Stores is there as soon as an import had its turn.
	Stores *string `json:"os_glance_importing_to_stores"`
}

func (c *cloud) picture(t *testing.T, id string) picture {
	t.Helper()
	var p picture
	if err := json.Unmarshal([]byte(c.call(t, http.MethodGet, "/image/v2/images/"+id, "").text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// importing makes an image and has its content be downloaded.
func (c *cloud) importing(t *testing.T, address string) picture {
	t.Helper()
	var p picture
	made := c.call(t, http.MethodPost, "/image/v2/images", `{"disk_format":"raw","container_format":"bare"}`)
	if err := json.Unmarshal([]byte(made.text), &p); err != nil {
		t.Fatal(err)
	}
	if got := c.importInto(t, p.ID, address); got.status != http.StatusAccepted {
		t.Fatalf("answered with %d: %s", got.status, got.text)
	}
	return p
}

func (c *cloud) importInto(t *testing.T, id, address string) answer {
	t.Helper()
	body := fmt.Sprintf(`{"method":{"name":"web-download","uri":%q}}`, address)
	return c.call(t, http.MethodPost, "/image/v2/images/"+id+"/import", body)
}

// ended waits until no task works on an image.
func (c *cloud) ended(t *testing.T, id string) picture {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for range 6000 {
		if p := c.picture(t, id); p.Task == "" {
			return p
		}
		<-ticker.C
	}
	t.Fatal("the download does not end")
	return picture{}
}

// web serves the possible answers to a download.
func web(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/disk", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "content") })
	mux.Handle("/moved", http.RedirectHandler("/disk", http.StatusFound))
	mux.Handle("/inside", http.RedirectHandler("http://169.254.169.254/latest/meta-data", http.StatusFound))
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "content")
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for chunk := make([]byte, 1<<20); r.Context().Err() == nil; {
			_, _ = w.Write(chunk)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// TestImport: an image is active only when its content was there to be had.
func TestImport(t *testing.T) {
	t.Parallel()
	c, address := start(t, emulator.Options{}), web(t)
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for url, want := range map[string]picture{
		address + "/disk":       {Status: "active", Size: len("content")},
		address + "/moved":      {Status: "active", Size: len("content")},
		address + "/missing":    {Status: "queued"},
		address + "/short":      {Status: "queued"},
		address + "/endless":    {Status: "queued"},
		address + "/inside":     {Status: "queued"},
		nobody.URL + "/disk":    {Status: "queued"},
		"http://[fe80::1%25lo]": {Status: "queued"},
	} {
		id := c.importing(t, url).ID
		want.ID, want.Stores = id, new("")
		if diff := cmp.Diff(want, c.ended(t, id)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

// TestImportUnderWay: an image has one import at a time, which ends with the image and with the
// cloud.
func TestImportUnderWay(t *testing.T) {
	t.Parallel()
	server := start(t, emulator.Options{})
	asked, gone := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	t.Cleanup(slow.Close)
	first := server.importing(t, slow.URL)
	<-asked
	if got := server.picture(t, first.ID); got.Status != "importing" || got.Task == "" {
		t.Errorf("while it is downloaded: %+v", got)
	}
	if got := server.importInto(t, first.ID, slow.URL); got.status != http.StatusConflict {
		t.Errorf("a second import is answered with %d: %s", got.status, got.text)
	}
	if got := server.call(t, http.MethodDelete, "/image/v2/images/"+first.ID, ""); got.status != http.StatusNoContent {
		t.Errorf("deletion is answered with %d: %s", got.status, strings.TrimSpace(got.text))
	}
	<-gone
	server.importing(t, slow.URL)
	<-asked
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-gone
}

// TestImportHeld: an import that waits for its turn leaves its image queued, and a second
// import is refused already.
func TestImportHeld(t *testing.T) {
	t.Parallel()
	c, address := start(t, emulator.Options{}), web(t)
	release := c.HoldImports()
	held := c.importing(t, address+"/disk")
	if got := c.picture(t, held.ID); got.Status != "queued" || got.Task == "" || got.Stores != nil {
		t.Errorf("before its turn: %+v", got)
	}
	if got := c.importInto(t, held.ID, address+"/disk"); got.status != http.StatusConflict {
		t.Errorf("a second import is answered with %d: %s", got.status, got.text)
	}
	release()
	if got := c.ended(t, held.ID); got.Status != "active" {
		t.Errorf("after its turn: %+v", got)
	}
}
