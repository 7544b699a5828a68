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

// HostError says that a host is not called. The author of a Secret names the address of a cloud,
// and the cloud names the addresses of its services. Without HostError, both could have the operator
// call any address that the operator reaches, such as a Service of the cluster.
type HostError struct {
	// Host that was to be called.
	Host string
	// Reason is why it is not.
	Reason string
}

// Error implements error.
func (e *HostError) Error() string { return fmt.Sprintf("host %s is not called: %s", e.Host, e.Reason) }

// allowed returns a HostError unless a host matches one of the patterns of path.Match. Without
// patterns every host is allowed.
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

// keys are addresses of metadata services, which give machines their credentials in OpenStack, AWS,
// Google, Alibaba and Azure. keys are never called.
var keys = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fe80::a9fe:a9fe"),
	netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("168.63.129.16"),
}

// Loopback are the addresses of the operator's machine. Tests give Loopback to [Options.Open], since
// their clouds listen there.
var Loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

var (
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.MustParseAddr("255.255.255.255")
	// localNAT64 is the range for local prefixes of NAT64 (RFC 8215). The prefixes may have any length,
	// so that the IPv4 address in an address of the range is not known.
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
)

// embedding are the IPv6 networks whose addresses contain an IPv4 address, such as NAT64, and
// the byte at which the IPv4 address begins.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("::/96"): 12, netip.MustParsePrefix("2002::/16"): 2,
}

// meant returns the address that an address leads to.
func meant(to netip.Addr) netip.Addr {
	to = to.Unmap().WithZone("")
	for prefix, at := range embedding {
		if prefix.Contains(to) && !to.IsLoopback() && !to.IsUnspecified() {
			bytes := to.As16()
			return netip.AddrFrom4([4]byte(bytes[at : at+4]))
		}
	}
	return to
}

// gate says which addresses are called.
type gate struct {
	open, closed []netip.Prefix
	// pods is [Options.Pods].
	pods func() []netip.Prefix
}

// against returns why an address must not be called ([Options.Closed], [Options.Pods]), or "".
func (g gate) against(to netip.Addr) string {
	to = meant(to)
	within := func(p netip.Prefix) bool { return p.Contains(to) }
	switch {
	case slices.Contains(keys, to):
		return "machines get their own credentials from it"
	case slices.ContainsFunc(g.open, within):
		return ""
	case to.IsLoopback(), to.IsUnspecified(), thisNetwork.Contains(to):
		return "it is the operator's own machine"
	case to.IsLinkLocalUnicast():
		return "it is link-local"
	case to.IsMulticast(), to == broadcast:
		return "it is no single machine"
	case localNAT64.Contains(to):
		return "it leads to an IPv4 address that can't be told"
	case slices.ContainsFunc(g.closed, within), g.pods != nil && slices.ContainsFunc(g.pods(), within):
		return "it is in a range that is closed, such as those of the cluster's Services and Pods"
	default:
		return ""
	}
}

// base returns an http.Transport that makes no connection to an address for which against returns a
// reason. The check is in net.Dialer.Control, after the name of the host is resolved. The transport
// has no proxy (http.Transport.Proxy): Control would see the address of the proxy instead of the
// address of the cloud, and HTTPS_PROXY would decide where passwords are sent.
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

// judged is an http.RoundTripper that checks the host of each request, and of each redirect, with
// allowed.
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

// maxRedirects is how many redirects of a download are followed.
const maxRedirects = 5

// Outside returns an http.Client for addresses that are not a cloud's, such as
// spec.resource.content.download.url of an Image. [Options.Hosts], Open and Closed hold for the URL
// and for redirects.
func (c *Clouds) Outside() *http.Client {
	once := base(c.gate().against)
	once.DisableKeepAlives = true // Nobody comes back soon.
	return &http.Client{
		Transport: judged{once, c.options.Hosts},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

func (c *Clouds) gate() gate { return gate{c.options.Open, c.options.Closed, c.options.Pods} }
