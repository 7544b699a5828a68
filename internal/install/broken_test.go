package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// breaking is a client whose first connections break.
type breaking struct {
	client.Client
	errs []error
	n    int
}

func (b *breaking) Scheme() *runtime.Scheme { return scheme.Scheme }

func (b *breaking) Apply(context.Context, runtime.ApplyConfiguration, ...client.ApplyOption) error {
	b.n++
	return b.errs[b.n-1]
}

// TestBrokenConnection: an installation goes on after a connection broke, and ends with any other error.
func TestBrokenConnection(t *testing.T) {
	broken := fmt.Errorf("unexpected error when reading response body: %w", io.ErrUnexpectedEOF)
	other := errors.New("no right")
	for name, c := range map[string]struct {
		errs []error
		want error
	}{
		"broken once":  {[]error{broken, nil}, nil},
		"broken twice": {[]error{broken, io.EOF, nil}, nil},
		"another":      {[]error{other}, other},
	} {
		b := &breaking{errs: c.errs}
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
		if err := apply(t.Context(), b, obj); !errors.Is(err, c.want) || b.n != len(c.errs) {
			t.Errorf("%s: %d requests, error %v", name, b.n, err)
		}
	}
}
