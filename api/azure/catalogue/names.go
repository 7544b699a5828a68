package catalogue

import "strings"

// GroupSuffix ends the group of every kind.
const GroupSuffix = ".infra.azure.com"

// GroupOf returns the group of an ARM type: microsoft.network.infra.azure.com for
// Microsoft.Network/virtualNetworks.
func GroupOf(armType string) string {
	provider, _, _ := strings.Cut(armType, "/")
	return strings.ToLower(provider) + GroupSuffix
}

// VersionOf returns the version of an api-version: v20200301 for 2020-03-01.
func VersionOf(apiVersion string) string {
	return "v" + strings.ReplaceAll(strings.ToLower(apiVersion), "-", "")
}

// isKindName tells whether a text may be a kind: a letter in upper case, then letters and digits.
func isKindName(s string) bool {
	if s == "" || len(s) > 63 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return true
}
