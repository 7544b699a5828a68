package contract_test

import (
	"context"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// TestAnswers: statuses are made of answers, which don't all tell the same of a resource,
// and of defaults, which are not all zero.
func TestAnswers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		cinder, keystone, neutron := client(t, w.admin.Volume), client(t, w.admin.Identity), client(t, w.member.Network)
		volume := makeVolume(t, cinder)
		if volume.TenantID == "" || volume.Host == "" {
			t.Errorf("a volume that is read: %+v", volume)
		}
		changed := must[*volumes.Volume](t)(volumes.Update(ctx, cinder, volume.ID, volumes.UpdateOpts{
			Description: new("new"),
		}).Extract())
		if changed.TenantID != "" || changed.Host != "" {
			t.Errorf("the answer to an update of a volume tells its project and its host: %+v", changed)
		}
		var service struct {
			Service struct {
				ID          string
				Description *string
			}
		}
		made := services.Create(ctx, keystone, services.CreateOpts{Type: "contract", Name: unique("service")})
		if err := made.ExtractInto(&service); err != nil {
			t.Fatal(err)
		}
		later(t, "service", func(ctx context.Context) error {
			return services.Delete(ctx, keystone, service.Service.ID).ExtractErr()
		})
		if description := service.Service.Description; description != nil {
			t.Errorf("a service without a description has %q", *description)
		}
		network := makeNetwork(t, neutron, "uplink")
		port := makePort(t, neutron, ports.CreateOpts{NetworkID: network.ID, Name: unique("port")})
		if !port.PropagateUplinkStatus {
			t.Errorf("a minimal port: %+v", port)
		}
	})
}
