package openstack

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"golang.org/x/sync/singleflight"

	"github.com/kinship-dev/kinship/pkg/locked"
)

// computeMicroversion is the microversion of every compute client: the first with server tags
// at creation, a server group's policy and rules, a flavor's description and extra specs, and a
// server's groups. All releases since Train (2019) have it.
const computeMicroversion = "2.79"

type service string

const (
	network  service = "network"
	compute  service = "compute"
	image    service = "image"
	identity service = "identity"
	volume   service = "volume"
	share    service = "share"
)

var constructors = map[service]func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (
	*gophercloud.ServiceClient, error){
	network:  openstack.NewNetworkV2,
	compute:  openstack.NewComputeV2,
	image:    openstack.NewImageV2,
	identity: openstack.NewIdentityV3,
	volume:   openstack.NewBlockStorageV3,
	share:    openstack.NewSharedFileSystemV2,
}

// Scope is one login: a user in a project of a [Cloud]. The clients of a Scope log in anew when a
// token is refused (Clouds.again). Scope is safe for concurrent use.
type Scope struct {
	// ProjectID is the project that the token is for; empty for a domain's or the
	// system's.
	ProjectID string
	// UserID is the id of the user who logged in.
	UserID string

	cloud    *Cloud
	provider *gophercloud.ProviderClient
	wire     *transport
	renew    time.Time
	used     time.Time // guarded by Clouds.mu

	probes   singleflight.Group
	services locked.Map[service, *gophercloud.ServiceClient]
}

// Project names, for conditions, the project of resources that the login creates. For a login
// without [Scope.ProjectID], Project returns [Scope.Region].
func (s *Scope) Project() string {
	if s.ProjectID == "" {
		return s.Region()
	}
	return "project " + brief(s.ProjectID) + " in " + s.Region()
}

// User says where resources of the user are.
func (s *Scope) User() string { return "user " + brief(s.UserID) + " in " + s.Region() }

// Region names, for conditions, the place of resources that all projects of a region share, such as
// Flavors ([Cloud.Place]).
func (s *Scope) Region() string { return s.cloud.Place() }

// Cloud names the address of the cloud, for Keystone's resources (Domain, Project, User), which all
// regions share.
func (s *Scope) Cloud() string { return s.cloud.address() }

// Network returns the client of Neutron.
func (s *Scope) Network(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, network)
}

// Compute returns the client of Nova, at [computeMicroversion].
func (s *Scope) Compute(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, compute)
}

// Image returns the client of Glance.
func (s *Scope) Image(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, image)
}

// Identity returns the client of Keystone.
func (s *Scope) Identity(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, identity)
}

// Volume returns the client of Cinder.
func (s *Scope) Volume(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, volume)
}

// Share returns the client of Manila.
func (s *Scope) Share(ctx context.Context) (*gophercloud.ServiceClient, error) {
	return s.service(ctx, share)
}

// service returns the ServiceClient of a service. The first call looks up the endpoint in the
// catalog and probes the endpoint (Scope.connect); later calls share the client, and copy it for
// another microversion. Failures are not kept.
func (s *Scope) service(ctx context.Context, kind service) (*gophercloud.ServiceClient, error) {
	if client, known := s.services.Load(kind); known {
		return client, nil
	}
	probe := s.probes.DoChan(string(kind), func() (any, error) { return s.connect(kind) })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-probe:
		if result.Err != nil {
			return nil, fmt.Errorf("find the %s service: %w", kind, result.Err)
		}
		return result.Val.(*gophercloud.ServiceClient), nil
	}
}

func (s *Scope) connect(kind service) (*gophercloud.ServiceClient, error) {
	// Another caller may have finished since the check above.
	if client, known := s.services.Load(kind); known {
		return client, nil
	}
	client, err := constructors[kind](s.provider, gophercloud.EndpointOpts{
		Region: s.cloud.region, Availability: s.cloud.availability,
	})
	if err != nil {
		return nil, err // The returned client is unusable.
	}
	if kind == compute {
		client.Microversion = computeMicroversion
	}
	s.wire.know(string(kind), client.Endpoint)
	s.services.Store(kind, client)
	return client, nil
}
