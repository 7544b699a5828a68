package options

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/pack"
)

// ownGroup is the API group of Kinship's own kinds, such as ReferenceGrant.
const ownGroup = "kinship.dev"

// RefusedKinds returns a function that says why a pack must not act on a resource for the author of another object, or
// "". Kinds of other packs are refused: their webhooks and policies judge the user who writes the object, and that
// user would be the account of the pack in place of the author. Kinds that give rights are refused by
// pack.GivesRights.
func RefusedKinds(o Options, packName string) func(schema.GroupResource) string {
	type owner struct {
		name   string
		groups []string
	}
	var others []owner
	for _, p := range Packs(o) {
		if p.Name == packName {
			continue
		}
		others = append(others, owner{p.Name, GroupsOf(p)})
	}
	return func(r schema.GroupResource) string {
		for _, other := range others {
			if slices.Contains(other.groups, r.Group) {
				return fmt.Sprintf("the pack %s asks for the rights of the user who writes them", other.name)
			}
		}
		if r.Group == ownGroup {
			return "they give consent in the name of a namespace"
		}
		return pack.GivesRights(r)
	}
}

// CheckOamKinds refuses the resources in Oam.Kinds that the pack oam must not act on.
func CheckOamKinds(o Options) error {
	refused := RefusedKinds(o, "oam")
	var errs []error
	for _, k := range o.Oam.Kinds {
		if why := refused(k); why != "" {
			errs = append(errs, fmt.Errorf("--oam-kinds: the pack oam can't act on %s: %s", k, why))
		}
	}
	return errors.Join(errs...)
}
