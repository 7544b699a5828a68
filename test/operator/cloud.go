package operator

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

// Cloud starts an emulator.Server of OpenStack that runs until the end of the test.
func Cloud(tb testing.TB, options emulator.Options) *emulator.Server {
	tb.Helper()
	cloud, err := emulator.Start(options)
	if err != nil {
		tb.Fatalf("operator: start a cloud: %v", err)
	}
	tb.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			tb.Errorf("operator: end the cloud: %v", err)
		}
	})
	return cloud
}
