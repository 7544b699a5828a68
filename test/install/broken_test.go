package install_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// breaking loses the bodies of the first answers to an apply of a definition: the API server has carried out the apply.
type breaking struct {
	http.RoundTripper

	left *atomic.Int32
}

func (b breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	isApply := r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/customresourcedefinitions/")
	if err == nil && isApply && b.left.Add(-1) >= 0 {
		response.Body = broken{response.Body}
	}
	return response, err
}

// broken is a body whose connection breaks before the first byte.
type broken struct{ io.ReadCloser }

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestBrokenConnection: an installation goes on after two answers were lost.
func TestBrokenConnection(t *testing.T) {
	removeAll(t)
	var left atomic.Int32
	left.Store(2)
	o := operator.Start(t, func(o *options.Options) {
		o.Config = testenv.Config(t)
		o.Config.Wrap(func(to http.RoundTripper) http.RoundTripper { return breaking{to, &left} })
	})
	if left.Load() > 0 {
		t.Error("no answer was lost")
	}
	got, err := install.InstalledPacks(t.Context(), operator.Client(t), options.PackNames())
	if err != nil || !slices.Contains(got, "usage") {
		t.Errorf("packs %v are installed, error %v", got, err)
	}
	if err := o.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}
