package openstack_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// TestOpenStack runs everything that needs nothing but an operator, with one for
// all.
func TestOpenStack(t *testing.T) {
	operator.Start(t, only)
	tests := maps.Clone(traps)
	maps.Copy(tests, identityTests)
	maps.Copy(tests, computeTests)
	maps.Copy(tests, roleAssignmentTests)
	maps.Copy(tests, applicationCredentialTests)
	maps.Copy(tests, imageTests)
	maps.Copy(tests, volumeTests)
	maps.Copy(tests, serverTests)
	maps.Copy(tests, strangerTests)
	maps.Copy(tests, driftTests)
	maps.Copy(tests, placeTests)
	maps.Copy(tests, routerInterfaceTests)
	for _, s := range slices.Concat(scenarios, more, identities, sizes, images, volumes, machines) {
		tests[s.kind+" create-minimal"] = s.createMinimal
		tests[s.kind+" create-full"] = s.createFull
		tests[s.kind+" dependency"] = s.dependency
		tests[s.kind+" import-error"] = s.importError
		if s.edit != "" {
			tests[s.kind+" update"] = s.update
		}
		if !s.nameless {
			tests[s.kind+" import"] = s.importing
		}
		tests[s.kind+" external-deletion"] = s.deletedOutside
	}
	for _, b := range byParents {
		tests[b.kind+" import-dependency"] = b.importDependency
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
