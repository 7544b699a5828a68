package cli

import (
	"fmt"
	"net/netip"
)

// Flags that are ranges of addresses.
const (
	openFlag   = "openstack-open-cidrs"
	closedFlag = "openstack-closed-cidrs"
)

// parseRanges reads the values of a flag.
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
