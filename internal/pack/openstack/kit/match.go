package kit

import (
	"net"
	"net/netip"
)

// match is how a field is compared with what OpenStack says of it.
type match struct {
	// set says that lists have no order.
	set bool
	// addresses says that texts are addresses, whatever their spelling.
	addresses bool
}

// covers reports whether a value has all that is wanted, and in lists nothing else.
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

// texts compares texts. Null is as good as empty.
func (m match) texts(have any, want string) bool {
	return have == want || (have == nil && want == "") || (m.addresses && sameAddress(have, want))
}

// lists compares lists of one length.
func (m match) lists(have, want []any) bool {
	if m.set {
		return m.sets(have, want)
	}
	for i := range want {
		if !m.covers(have[i], want[i]) {
			return false
		}
	}
	return true
}

// sets reports whether each wanted value finds one of its own. One that could have
// several gives way to one that could not: of two pairs of one address, that without a
// hardware address must not take what the other needs.
func (m match) sets(have, want []any) bool {
	owner := make([]int, len(have)) // The wanted value that has it, counted from 1.
	for i := range want {
		if !m.place(i+1, owner, make([]bool, len(have)), have, want) {
			return false
		}
	}
	return true
}

// place finds something for a wanted value, if need be by moving others.
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

// CanonicalAddress returns the one spelling of an address, a prefix or a hardware
// address: OpenStack has its own for some, and keeps others as they are given. What is
// none of these is left as it is.
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
