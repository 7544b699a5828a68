package openstack_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// everywhere returns what real services have to pass as well, beside the stories.
func everywhere() map[string]func(*world) {
	tests := map[string]func(*world){
		"drift of what can't be changed":          testImmutableDrift,
		"RouterInterface dependency":              interfaceTogether,
		"RouterInterface external-deletion":       testInterfaceDeletedOutside,
		"User import-dependency":                  testUserImportDependency,
		"RoleAssignment import":                   testAssignmentImport,
		"RoleAssignment import-error":             testAssignmentImportError,
		"RoleAssignment import-dependency":        testAssignmentImportDependency,
		"RoleAssignment external-deletion":        testAssignmentRemoved,
		"ApplicationCredential import":            testCredentialImport,
		"ApplicationCredential import-error":      testCredentialImportError,
		"ApplicationCredential import-dependency": testCredentialImportDependency,
		"ApplicationCredential external-deletion": testCredentialRemoved,
	}
	for _, b := range byParents {
		tests[b.kind+" import-dependency"] = b.importDependency
	}
	for _, a := range ambiguities {
		tests[a.kind+" import-error: more than one"] = a.undecided
	}
	for _, a := range askedFor {
		tests[a.kind+" in the cloud: "+a.what] = a.given
	}
	maps.Copy(tests, others(false))
	return tests
}

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
	maps.Copy(tests, placeTests)
	maps.Copy(tests, interruptedTests)
	maps.Copy(tests, strayTests)
	maps.Copy(tests, routerInterfaceTests)
	for _, s := range slices.Concat(scenarios, more, identities, sizes, images, volumes, machines) {
		tests[s.kind+" create-minimal"] = s.createMinimal
		tests[s.kind+" create-full"] = s.createFull
		tests[s.kind+" dependency"] = s.dependency
		tests[s.kind+" import-error"] = func(t *testing.T) { s.importError(newWorld(t)) }
		if s.edit != "" {
			tests[s.kind+" update"] = s.update
		}
		if !s.nameless {
			tests[s.kind+" import"] = s.importing
		}
		tests[s.kind+" external-deletion"] = s.deletedOutside
	}
	tests["immutable fields of all kinds"] = testImmutables
	tests["status of what is longer than a spec"] = testLongStatus
	for _, r := range spellings {
		tests[r.kind+" in another spelling"] = r.compared
	}
	both := everywhere()
	maps.Copy(both, others(true))
	for name, test := range both {
		tests[name] = func(t *testing.T) { test(newWorld(t)) }
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
