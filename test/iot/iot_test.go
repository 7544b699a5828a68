package iot_test

import (
	"testing"

	"github.com/kinship-dev/kinship/test/operator"
)

// TestIot runs all tests that only need an operator, with one operator for all.
func TestIot(t *testing.T) {
	operator.Start(t)
	for name, test := range map[string]func(*testing.T){
		"set difference":                        testSetDifference,
		"naming with and without name":          testNames,
		"side cars share a Pod":                 testSideCars,
		"a removed destination leaves others":   testDestinationRemoved,
		"version 0 stays as it was":             testVersion0,
		"owned, and in no inventory":            testOwnedByUID,
		"one identity for all":                  testSharedIdentity,
		"deletion, identity last":               testDeletion,
		"somebody else's Deployment":            testForeign,
		"taken over":                            testTakenOver,
		"many minds":                            testManyMinds,
		"a Deployment that is held":             testHeldDeployment,
		"drift":                                 testDrift,
		"an autoscaler":                         testAutoscaler,
		"a rival autoscaler":                    testRivalAutoscaler,
		"rival autoscaler":                      testRivalAutoscaler,
		"restricted Pods":                       testRestricted,
		"previous version stored":               testUpgrade,
		"no gap in service":                     testNoGap,
		"no gap in service, scaled":             testNoGapScaled,
		"the old one stays until the new serve": testOldStays,
		"a rollback meets an upgrade":           testRollbackMeetsUpgrade,
		"version down":                          testVersionDown,
		"an upgrade with another past":          testForgedUpgrade,
		"rights":                                testRights,
		"refused":                               testRefused,
		"no gap in service, another image":      testNoGapImage,
		"release version 0 changes nothing":     testRolloutFirstStep,
		"release version 1 upgrades the rest":   testRolloutLastStep,
		"release of images":                     testReleaseImages,
		"a change that does not serve":          testBadChange,
		"release stops":                         testReleaseStops,
		"release spares others":                 testReleaseSparesOthers,
		"release of what was rolled back":       testReleaseRolledBack,
		"release that somebody denies":          testReleaseDenied,
		"release paused":                        testReleasePaused,
		"release max unavailable":               testReleaseMaxUnavailable,
		"release of everything":                 testEverything,
		"two releases":                          testTwoReleases,
		"spec creation":                         testSpecCreation,
		"a new type needs no code":              testNewType,
		"provisioning upgrades":                 testProvisionUpgrades,
		"concurrent deprovision":                testConcurrentDeprovision,
		"commands":                              testCommands,
		"conditions are calm":                   testCalm,
		"questions":                             testQuestions,
		"restored in an upgrade":                testRestoredUpgrade,
		"restored and kept":                     testRestoredKept,
		"restored with its owner":               testRestoredOwned,
		"backup page":                           testBackupPage,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
