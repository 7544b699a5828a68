package kit

import (
	"net"
	"net/netip"
	"slices"
)

// match says how a field is compared with the reported value.
type match struct {
	// set says that the order of lists does not count.
	set bool
	// addresses says that strings are addresses, compared by [CanonicalAddress].
	addresses bool
}

// covers reports whether a value has everything that is wanted. A list must have nothing else,
// an object may have more keys.
func (m match) covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := have.(map[string]any)
		for key, value := range want {
			ok = ok && m.covers(object[key], value)
		}
		return ok
	case []any:
		list, ok := have.([]any)
		if !ok || len(list) != len(want) {
			return have == nil && len(want) == 0
		}
		return m.lists(list, want)
	case string:
		return m.texts(have, want)
	case bool:
		return have == want || (have == nil && !want)
	default:
		return have == want
	}
}

// texts compares strings. Null equals the empty string.
func (m match) texts(have any, want string) bool {
	return have == want || (have == nil && want == "") || (m.addresses && sameAddress(have, want))
}

// lists compares lists of equal length.
func (m match) lists(have, want []any) bool {
	if m.set {
		return m.sets(have, want)
	}
	return slices.EqualFunc(have, want, m.covers)
}

// sets reports whether each wanted value can get a value of its own. It is a bipartite
// matching: if two allowed address pairs have one ip_address, the pair without a mac_address
// must not take the value that the other pair needs.
func (m match) sets(have, want []any) bool {
	owner := make([]int, len(have)) // The number of the wanted value that has the element, from 1.
	for i := range want {
		if !m.place(i+1, owner, make([]bool, len(have)), have, want) {
			return false
		}
	}
	return true
}

// place finds an element for a wanted value, and moves other wanted values to other elements if
// necessary.
func (m match) place(number int, owner []int, tried []bool, have, want []any) bool {
	for j := range have {
		if tried[j] || !m.covers(have[j], want[number-1]) {
			continue
		}
		tried[j] = true
		if owner[j] == 0 || m.place(owner[j], owner, tried, have, want) {
			owner[j] = number
			return true
		}
	}
	return false
}

func sameAddress(have any, want string) bool {
	text, ok := have.(string)
	return ok && CanonicalAddress(text) == CanonicalAddress(want)
}

// CanonicalAddress returns one spelling for all spellings of an IP address, a prefix or a
// hardware address: OpenStack rewrites some addresses, and keeps others as they are given. Any
// other text is returned unchanged.
func CanonicalAddress(text string) string {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.String()
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String()
	}
	if hardware, err := net.ParseMAC(text); err == nil {
		return hardware.String()
	}
	return text
}
