package cli

import (
	"fmt"
	"net/netip"
)

// Flags with CIDR ranges of addresses.
const (
	openFlag   = "openstack-open-cidrs"
	closedFlag = "openstack-closed-cidrs"
)

// parseRanges parses the values of a flag, such as 10.0.0.0/8.
func parseRanges(flag string, texts []string) ([]netip.Prefix, error) {
	var ranges []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("read --%s: %w", flag, err)
		}
		ranges = append(ranges, prefix.Masked())
	}
	return ranges, nil
}
