package openstack_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestDefaultAuthorities: a cloud whose certificate is signed by an authority of its own is
// trusted by --default-ca-certs, unless the Secret has another authority.
func TestDefaultAuthorities(t *testing.T) {
	site := httptest.NewTLSServer(http.NotFoundHandler()) // For its certificate, which is its own authority.
	t.Cleanup(site.Close)
	certificate := site.TLS.Certificates[0]
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	file := filepath.Join(t.TempDir(), "authorities.pem")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	cloud := operator.Cloud(t, emulator.Options{Certificate: &certificate})
	first := operator.Exec(t, "--packs", "openstack")
	w := worldOf(t, cloud.CloudsYAML(), cloud)
	w.apply(managed("Network", "it", "{}"))
	w.failsWith("Network", "it", "certificate signed by unknown authority")
	first.Kill()
	operator.Exec(t, "--packs", "openstack", "--default-ca-certs", file)
	w.available("Network", "it")
	other := w.secret("other", cloud.CloudsYAML())
	other.Data["cacert"] = testenv.Config(t).CAData
	w.create(other)
	w.apply(strings.Replace(managed("Network", "other", "{}"), "secretName: cloud,", "secretName: other,", 1))
	w.failsWith("Network", "other", "certificate signed by unknown authority")
	w.tidyUp()
}

// failsWith waits until an object is tried again because of something.
func (w *world) failsWith(kind, name, why string) {
	w.t.Helper()
	w.fails(kind, name, "TransientError")
	if progressing, _ := find(w.get(kind, name), "Progressing"); !strings.Contains(progressing.message, why) {
		w.t.Errorf("%s/%s: %q is not in %q", kind, name, why, progressing.message)
	}
}
