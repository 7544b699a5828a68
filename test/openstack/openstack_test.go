package openstack_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// everywhere returns the tests that real services must pass as well, in addition to the
// stories.
func everywhere() map[string]func(*world) {
	tests := map[string]func(*world){
		"Image is imported once":                  testImportedOnce,
		"drift of what can't be changed":          testImmutableDrift,
		"events":                                  testEvents,
		"RouterInterface external-deletion":       testInterfaceDeletedOutside,
		"RoleAssignment external-deletion":        testAssignmentRemoved,
		"ApplicationCredential external-deletion": testCredentialRemoved,
	}
	for _, l := range laters {
		tests[l.kind+" that needs "+l.what] = l.waits
	}
	for _, a := range askedFor {
		tests[a.kind+" in the cloud: "+a.what] = a.given
	}
	maps.Copy(tests, others(false))
	maps.Copy(tests, sharedTests)
	maps.Copy(tests, busyTests)
	return tests
}

// TestOpenStack runs all tests that only need an operator, with one operator for all.
func TestOpenStack(t *testing.T) {
	operator.Start(t, only)
	leavesNothing(t)
	tests := maps.Clone(traps)
	maps.Copy(tests, identityTests)
	maps.Copy(tests, computeTests)
	maps.Copy(tests, roleAssignmentTests)
	maps.Copy(tests, applicationCredentialTests)
	maps.Copy(tests, imageTests)
	maps.Copy(tests, imageImportTests)
	maps.Copy(tests, volumeTests)
	maps.Copy(tests, serverTests)
	maps.Copy(tests, strangerTests)
	maps.Copy(tests, placeTests)
	maps.Copy(tests, interruptedTests)
	maps.Copy(tests, strayTests)
	maps.Copy(tests, routerInterfaceTests)
	maps.Copy(tests, resyncTests)
	maps.Copy(tests, markTests)
	maps.Copy(tests, publishedTexts())
	for _, s := range slices.Concat(scenarios, more, identities, sizes, images, volumes, machines) {
		tests[s.kind+" external-deletion"] = s.deletedOutside
		tests[s.kind+" taken away"] = func(t *testing.T) { s.takenAway(newWorld(t)) }
	}
	tests["immutable fields of all kinds"] = testImmutables
	tests["status of what is longer than a spec"] = testLongStatus
	tests["published refusals"] = testPublishedRefusals
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
