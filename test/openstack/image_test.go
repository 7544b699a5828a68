package openstack_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ulikunitz/xz"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

var images = []scenario{{
	kind: "Image", collection: "image/images",
	minimal: "{content: {diskFormat: raw, download: {url: '" + somewhere + "'}}}",
	full: `{name: other, protected: false, tags: [b, a], visibility: public, content: {diskFormat: qcow2,
  containerFormat: bare, download: {url: '` + somewhere + `'}}, properties: {architecture: x86_64,
  hypervisorType: qemu, minDiskGB: 1, minMemoryMB: 64, operatingSystem: {distro: debian, version: '13'},
  hardware: {cdromBus: ide, cpuCores: 2, cpuPolicy: shared, cpuSockets: 1, cpuThreadPolicy: prefer, cpuThreads: 2,
  diskBus: virtio, qemuGuestAgent: true, rngModel: virtio, scsiModel: virtio-scsi, vifModel: e1000}}}`,
}}

var imageTests = map[string]func(*testing.T){
	"Image content is streamed where there is a hash": testStreamed,
	"Image content is decompressed":                   testDecompressed,
	"Image content with another hash is dropped":      testWrongHash,
	"Image content that Glance refuses to download":   testGlanceRefuses,
	"Image content that can't be had":                 testDeadLink,
	"Image content that breaks off is loaded again":   testBreaksOff,
	"Image downloads don't hold up other images":      testManyStreams,
	"Image deleted while it is downloaded":            testDeletedStreaming,
	"Image content from where no image is":            testNoSource,
	"Image that is protected stays":                   testProtected,
	"Image content is needed, and immutable":          testContentRules,
	"Image whose creation was not answered":           testImageLost,
}

// somewhere is where manifests have contents from: apply puts the address of a server
// of the test's own in its place.
const somewhere = "http://somewhere.example/disk"

// disk is the content that source serves.
var disk = bytes.Repeat([]byte("what is on the disk "), 10_000)

// source serves contents, and calls a function for each request before the answer.
func source(t *testing.T, content []byte, before func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || before(w, r) {
			_, _ = w.Write(content) // A client may close the connection.
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/disk"
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return fmt.Sprintf("hash: {algorithm: sha256, value: '%s'}", hex.EncodeToString(sum[:]))
}

// from is the spec of an image whose content is at an address.
func from(url string, more ...string) string {
	return fmt.Sprintf("{content: {diskFormat: raw, download: {%s}}}", strings.Join(append([]string{"url: '" + url + "'"}, more...), ", "))
}

var dataSaved = want{"False", "Success", "Data saved"}

func testStreamed(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Image", "it", from(source(t, disk, nil), hashOf(disk))))
	w.available("Image", "it")
	w.has("Image", "it", "Downloading", dataSaved)
	w.reports("Image", "it", map[string]any{"sizeB": int64(len(disk)), "status": "active"})
	if n := w.requests("PUT", "images/file"); n != 1 {
		t.Errorf("%d uploads", n)
	}
	if n := w.requests("GET", "images"); n > 2 { // Once after the end, and once more if it was requeued before.
		t.Errorf("asked %d times: there is nothing to poll for", n)
	}
	attempts, _ := w.get("Image", "it").Object["status"].(map[string]any)["downloadAttempts"].(int64)
	if attempts != 1 {
		t.Errorf("%d attempts", attempts)
	}
}

func testDecompressed(t *testing.T) {
	w := newWorld(t)
	var gz, x bytes.Buffer
	zipper := gzip.NewWriter(&gz)
	_, err := zipper.Write(disk)
	if err := errors.Join(err, zipper.Close()); err != nil {
		t.Fatal(err)
	}
	xzipper, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	_, err = xzipper.Write(disk)
	if err := errors.Join(err, xzipper.Close()); err != nil {
		t.Fatal(err)
	}
	for how, content := range map[string][]byte{"gz": gz.Bytes(), "xz": x.Bytes()} {
		w.apply(managed("Image", how, from(source(t, content, nil), "decompress: "+how, hashOf(content))))
		w.available("Image", how)
		w.reports("Image", how, map[string]any{"sizeB": int64(len(disk))})
	}
}

// testWrongHash uploads nothing that serves, and does not try again.
func testWrongHash(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Image", "it", from(source(t, disk, nil), hashOf(nil))))
	w.fails("Image", "it", "InvalidConfiguration")
	w.settles()
	w.reports("Image", "it", map[string]any{"status": "queued"})
	progressing, _ := find(w.get("Image", "it"), "Progressing")
	if !strings.Contains(progressing.message, "the sha256 of what was downloaded is") {
		t.Error(progressing.message)
	}
	if n := w.requests("PUT", "images/file"); n != 1 {
		t.Errorf("%d uploads", n)
	}
}

// testGlanceRefuses has Glance not even try.
func testGlanceRefuses(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "image", Method: "POST", Resource: "images/import", Status: 400})
	w.apply(managed("Image", "refused", from(source(t, disk, nil))))
	w.available("Image", "refused")
	w.reports("Image", "refused", map[string]any{"sizeB": int64(len(disk))})
}

// testDeadLink has Glance fail to download, and then the operator, which says from
// where, pauses longer each time, and never gives up.
func testDeadLink(t *testing.T) {
	w := newWorld(t)
	var mu sync.Mutex
	var asked []time.Time
	found := make(chan struct{})
	url := source(t, disk, func(w http.ResponseWriter, _ *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-found:
			return true
		default:
		}
		asked = append(asked, time.Now())
		w.WriteHeader(http.StatusNotFound)
		return false
	})
	w.apply(managed("Image", "it", from(url)))
	testenv.Eventually(t, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(asked) < 4 {
			return fmt.Errorf("asked for %d times", len(asked))
		}
		return nil
	})
	why := "download " + url + ": 404 Not Found"
	w.has("Image", "it", "Available", want{"False", "TransientError", why})
	w.has("Image", "it", "Downloading", want{"False", "TransientError", why})
	w.reports("Image", "it", map[string]any{"status": "queued"})
	close(found)
	w.available("Image", "it")
	if n := w.requests("POST", "images/import"); n != 1 {
		t.Errorf("Glance, which has failed, was asked %d times", n)
	}
	// The first to ask was Glance.
	for i, pause := 2, 200*time.Millisecond; i < 4; i, pause = i+1, 2*pause {
		if waited := asked[i].Sub(asked[i-1]); waited < pause {
			t.Errorf("attempt %d was %s after the one before, want %s at least", i, waited, pause)
		}
	}
}

func testBreaksOff(t *testing.T) {
	w := newWorld(t)
	var once sync.Once
	url := source(t, disk, func(w http.ResponseWriter, _ *http.Request) bool {
		whole := true
		once.Do(func() {
			whole = false
			w.Header().Set("Content-Length", fmt.Sprint(len(disk)))
			_, _ = w.Write(disk[:1000])
		})
		return whole
	})
	w.apply(managed("Image", "it", from(url, hashOf(disk))))
	w.available("Image", "it")
	w.reports("Image", "it", map[string]any{"sizeB": int64(len(disk))})
	if attempts := w.get("Image", "it").Object["status"].(map[string]any)["downloadAttempts"]; attempts != int64(2) {
		t.Errorf("%d attempts", attempts)
	}
}

// testManyStreams: more images wait for their contents than there are workers; another image is
// created meanwhile.
func testManyStreams(t *testing.T) {
	w := newWorld(t)
	open := make(chan struct{})
	url := source(t, disk, func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-open:
		case <-r.Context().Done():
		}
		return true
	})
	const n = 12
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("slow%d", i))
		w.apply(managed("Image", names[i], from(url, hashOf(disk))))
		w.says("Image", names[i], "Data is streamed to OpenStack")
	}
	w.apply(managed("Image", "it", images[0].minimal))
	w.available("Image", "it")
	close(open)
	w.available("Image", names...)
}

func testDeletedStreaming(t *testing.T) {
	w := newWorld(t)
	asked, gone := make(chan struct{}), make(chan struct{})
	url := source(t, disk, func(_ http.ResponseWriter, r *http.Request) bool {
		close(asked)
		<-r.Context().Done()
		close(gone)
		return false
	})
	w.apply(managed("Image", "it", from(url, hashOf(disk))))
	<-asked
	w.says("Image", "it", "Data is streamed to OpenStack")
	w.delete("Image", "it")
	w.gone("Image", "it")
	<-gone // The download has ended as well.
}

// testProtected: an image is kept while the spec has protected: true.
func testProtected(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Image", "it", strings.Replace(images[0].minimal, "{", "{protected: true, ", 1)))
	w.available("Image", "it")
	w.delete("Image", "it")
	w.fails("Image", "it", "TransientError")
	w.edit("Image", "it", `{"spec":{"resource":{"protected":false}}}`)
	w.gone("Image", "it")
}

func testContentRules(t *testing.T) {
	w := newWorld(t)
	err := w.refused(managed("Image", "it", "{name: x}"))
	if err == nil || !strings.Contains(err.Error(), "resource content must be specified when not importing") {
		t.Errorf("without: %v", err)
	}
	w.apply(managed("Image", "it", images[0].minimal))
	for patch, message := range map[string]string{
		`{"content":{"diskFormat":"iso"}}`:       "content is immutable",
		`{"properties":{"architecture":"i686"}}`: "properties can't be added or removed: immutable",
	} {
		err := w.c.Patch(t.Context(), w.get("Image", "it"),
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"resource":`+patch+`}}`)))
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", patch, err)
		}
	}
	w.available("Image", "it")
}

// testImageLost: only the mark counts. An image of the same name that a user created a moment
// ago is not taken for the image whose creation was not answered.
func testImageLost(t *testing.T) {
	for reset, reason := range map[emulator.Reset]string{
		emulator.AfterExecution: "it was made", emulator.BeforeExecution: "it was not",
	} {
		w := newWorld(t)
		c := w.client(services["image"])
		var made struct {
			ID string `json:"id"`
		}
		body := map[string]string{"name": "theirs"}
		if err := kit.Call(t.Context(), c, http.MethodPost, c.ServiceURL("images"), body, &made); err != nil {
			t.Fatal(err)
		}
		w.cloud.AddFault(emulator.Fault{Service: "image", Method: "POST", Resource: "images", Reset: reset})
		w.apply(managed("Image", "it", strings.Replace(images[0].minimal, "{", "{name: theirs, ", 1)))
		w.available("Image", "it")
		if ids := w.inCloud("image/images", "theirs"); len(ids) != 2 || w.id("Image", "it") == made.ID {
			t.Errorf("%s: in the cloud: %v", reason, ids)
		}
	}
}

// TestKilledStreaming kills an operator during an upload. The next operator begins again.
func TestKilledStreaming(t *testing.T) {
	first := operator.Exec(t, "--packs", "openstack")
	w := newWorld(t)
	asked := make(chan struct{}, 10)
	var once sync.Once
	url := source(t, disk, func(_ http.ResponseWriter, r *http.Request) bool {
		asked <- struct{}{}
		whole := true
		once.Do(func() {
			<-r.Context().Done()
			whole = false
		})
		return whole
	})
	w.apply(managed("Image", "it", from(url, hashOf(disk))))
	<-asked
	testenv.Eventually(t, func() error {
		if len(w.inCloud("image/images", "it")) != 1 {
			return errors.New("it is not made yet")
		}
		return nil
	})
	first.Kill()
	operator.Exec(t, "--packs", "openstack")
	w.available("Image", "it")
	if ids := w.inCloud("image/images", "it"); len(ids) != 1 {
		t.Errorf("in the cloud: %v", ids)
	}
	w.tidyUp()
}

// testNoSource names the address from which machines get their own credentials.
func testNoSource(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Image", "it", from("http://169.254.169.254/latest/meta-data", hashOf(disk))))
	w.fails("Image", "it", "InvalidConfiguration")
}
