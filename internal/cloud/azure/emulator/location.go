package emulator

import (
	"net/http"
	"slices"
	"strings"
)

// regions are the valid locations of resources.
var regions = strings.Fields(`global
	asia asiapacific australia australiacentral australiacentral2 australiaeast australiasoutheast austriaeast
	belgiumcentral brazil brazilsouth brazilsoutheast canada canadacentral canadaeast centralindia centralus chilecentral
	eastasia eastus eastus2 eastus2euap centraluseuap europe france francecentral francesouth germany germanynorth
	germanywestcentral india indonesiacentral israelcentral italynorth japan japaneast japanwest jioindiacentral
	jioindiawest korea koreacentral koreasouth malaysiawest mexicocentral newzealandnorth northcentralus northeurope
	norway norwayeast norwaywest polandcentral qatarcentral singapore southafrica southafricanorth southafricawest
	southcentralus southindia southeastasia spaincentral sweden swedencentral swedensouth switzerland switzerlandnorth
	switzerlandwest uae uaecentral uaenorth uk uksouth ukwest unitedstates westcentralus westeurope westindia westus
	westus2 westus3`)

// normalize returns a location as ARM writes it: "West US 2" is westus2.
func normalize(location string) string {
	return strings.ToLower(strings.ReplaceAll(location, " ", ""))
}

// checkLocation refuses a PUT with a missing, unknown or changed location.
func checkLocation(old, next *resource) *refusal {
	group := isGroup(next.id)
	switch {
	case next.location == "" && next.kind.NeedsLocation && (old == nil || old.location == ""):
		return malformed("LocationRequired", "The location property is required for this definition.")
	case next.location == "":
		if old != nil {
			next.location = old.location
		}
		return nil
	case !slices.Contains(regions, next.location) && group:
		return malformed("LocationNotAvailableForResourceGroup",
			"The provided location '%s' is not available for resource group.", next.location)
	case !slices.Contains(regions, next.location):
		return malformed("LocationNotAvailableForResourceType",
			"The provided location '%s' is not available for resource type '%s'.", next.location, next.kind.Name)
	case old == nil || old.location == next.location:
		return nil
	}
	code := "InvalidResourceLocation"
	if group {
		code = "InvalidResourceGroupLocation"
	}
	refused := malformed(code, "The resource '%s' already exists in location '%s'. A resource with the same name "+
		"cannot be created in location '%s'.", next.id.Name(), old.location, next.location)
	refused.status = http.StatusConflict
	return refused
}

// locationOf returns the location of a resource, or the location of its nearest parent with a
// location.
func (s *Server) locationOf(r *resource) string {
	for at := r; at != nil; at = s.store.get(at.id.Parent()) {
		if at.location != "" {
			return at.location
		}
	}
	return ""
}
