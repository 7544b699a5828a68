package contract_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
)

func TestBadToken(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		for path, get := range map[string]func(context.Context) (*gophercloud.ServiceClient, error){
			"networks": w.member.Network, "servers": w.member.Compute, "images": w.member.Image,
			"projects": w.member.Identity, "volumes": w.member.Volume,
		} {
			t.Run(path, func(t *testing.T) {
				bad := *client(t, get)
				provider := *bad.ProviderClient
				provider.UseTokenLock()
				provider.SetToken("bogus")
				provider.ReauthFunc = nil
				bad.ProviderClient = &provider
				err := send(t.Context(), &bad, http.MethodGet, bad.ServiceURL(path), nil, nil)
				refused(t, err, http.StatusUnauthorized, "", openstack.Unauthorized)
			})
		}
	})
}

func TestNetworkQuota(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, w *world) {
		ctx, c := t.Context(), client(t, w.admin.Network)
		project := makeProject(t, client(t, w.admin.Identity), projects.CreateOpts{Name: unique("quota")})
		must[*quotas.Quota](t)(quotas.Update(ctx, c, project.ID, quotas.UpdateOpts{Network: new(1)}).Extract())
		opts := networks.CreateOpts{Name: unique("quota"), ProjectID: project.ID}
		made := must[*networks.Network](t)(networks.Create(ctx, c, opts).Extract())
		later(t, "network", func(ctx context.Context) error { return networks.Delete(ctx, c, made.ID).ExtractErr() })
		_, err := networks.Create(ctx, c, opts).Extract()
		refused(t, err, http.StatusConflict, "OverQuota", openstack.Busy)
	})
}
