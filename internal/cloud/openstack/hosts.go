package openstack

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// HostError says that a host is not called. Who writes a Secret names the address of
// its cloud, and the cloud those of its services: without a bound, both could have
// the operator call whatever it reaches.
type HostError struct {
	// Host that was to be called.
	Host string
	// Reason is why it is not.
	Reason string
}

// Error says which host, and why not.
func (e *HostError) Error() string { return fmt.Sprintf("host %s is not called: %s", e.Host, e.Reason) }

// allowed returns an error unless one of the patterns, as in path.Match, is that of
// the host. Without patterns every host may be called.
func allowed(patterns []string, host string) error {
	matches := func(pattern string) bool {
		ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(host))
		return ok && err == nil
	}
	if len(patterns) == 0 || slices.ContainsFunc(patterns, matches) {
		return nil
	}
	return &HostError{host, "it is not among those that the operator was given"}
}

// keys are addresses that machines get their own credentials from, as they do from
// link-local ones, in clouds that have such: AWS, Google, Alibaba and Azure.
var keys = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"),
}

// sensitive returns why no address of a Secret or a cloud leads there, or nothing.
func sensitive(to netip.Addr) string {
	switch {
	case to.IsLinkLocalUnicast():
		return "it is link-local"
	case slices.Contains(keys, to):
		return "machines get their own credentials from it"
	default:
		return ""
	}
}

// base returns what makes the connections, but for those that there is a reason
// against. That is asked here, where no name can hide the address. There is no proxy: it
// would be its address that is seen here, and another variable of the environment that
// says where passwords go.
func base(against func(netip.Addr) string) *http.Transport {
	dialer := net.Dialer{
		Timeout: 30 * time.Second, KeepAlive: 30 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if reason := against(to.Addr().Unmap()); reason != "" {
				return &HostError{to.Addr().String(), reason}
			}
			return nil
		},
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext, transport.Proxy = dialer.DialContext, nil
	return transport
}

// judged looks at each address before it is called, those of redirects too.
type judged struct {
	to    http.RoundTripper
	hosts []string
}

// RoundTrip implements http.RoundTripper.
func (b judged) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := allowed(b.hosts, request.URL.Hostname()); err != nil {
		return nil, err
	}
	return b.to.RoundTrip(request)
}

// Outside returns a client for addresses that people name beside that of a cloud,
// such as those of images. The same hosts may be called as by clouds, but for the
// operator's own machine: what listens there trusts who is there. Only patterns that
// match it by its address, or localhost, allow it.
func (c *Clouds) Outside() *http.Client {
	hosts := c.options.Hosts
	named := func(host string) bool { return len(hosts) > 0 && allowed(hosts, host) == nil }
	once := base(func(to netip.Addr) string {
		if own := to.IsLoopback() || to.IsUnspecified(); own && !named(to.String()) && !named("localhost") {
			return "it is the operator's own machine"
		}
		return sensitive(to)
	})
	once.DisableKeepAlives = true // Nobody comes back soon.
	return &http.Client{Transport: judged{once, hosts}}
}
