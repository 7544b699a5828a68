package cli

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// lockedBuffer is written to by a command while a test reads.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func TestEmulatorOpenStackServesTheCloudsItPrints(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errOut lockedBuffer
	ended := make(chan error, 1)
	go func() {
		ended <- runOpenStack(ctx, genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, emulator.Options{})
	}()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !strings.Contains(errOut.String(), "listens on http://127.0.0.1:") {
		select {
		case err := <-ended:
			t.Fatalf("ended: %v", err)
		case <-ticker.C:
		}
	}
	clouds := openstack.New(openstack.Options{Open: openstack.Loopback})
	for _, name := range []string{"openstack", "openstack-admin"} {
		cloud, err := openstack.ParseCloud(map[string][]byte{openstack.CloudsKey: []byte(out.String())}, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := clouds.Scope(ctx, cloud); err != nil {
			t.Errorf("log in to %s: %v", name, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}
