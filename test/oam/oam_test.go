package oam_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestOam runs all tests that only need an operator, with one operator for all.
func TestOam(t *testing.T) {
	operator.Start(t, testKinds, func(o *options.Options) { o.MaxObjectSize = 2 << 20 }) // See testLargeStatus.
	define(t)
	for name, test := range map[string]func(*testing.T){
		"containerized workload":  testContainerized,
		"revisions":               testRevisions,
		"taken revision":          testTakenRevision,
		"workload per revision":   testWorkloadPerRevision,
		"trait added later":       testTraitLater,
		"bare Deployment":         testBareDeployment,
		"health scope":            testHealthScope,
		"two instances":           testTwoInstances,
		"cluster-scoped scope":    testClusterScope,
		"bad path of a scope":     testBadScopePath,
		"rights to scopes":        testScopeRights,
		"a verdict for each":      testVerdicts,
		"data passing":            testDataPassing,
		"data conditions":         testDataConditions,
		"data stores":             testDataStores,
		"foreign object":          testForeign,
		"removed component":       testRemoved,
		"deleted children return": testRestored,
		"authors":                 testAuthors,
		"authors change":          testAuthorsChange,
		"laundered authors":       testLaunderedAuthors,
		"large status":            testLargeStatus,
		"stores and rights":       testStoreRights,
		"forged status":           testForgedStatus,
		"traits without an app":   testDirectTraits,
		"hostile paths":           testHostilePaths,
		"short names":             testShortNames,
		"namesakes":               testNamesakes,
		"many in one scope":       testCrowd,
		"revision limit":          testRevisionLimit,
		"application of the seed": testSeed,
		"applies to workloads":    testApplies,
		"other controllers":       testRivals,
		"rival trait is gone":     testTraitGone,
		"stripped owners":         testStripped,
		"other labels":            testRelabelled,
		"definition later":        testDefinitionLater,
		"scope later":             testScopeLater,
		"kind later":              testKindLater,
		"events":                  testEvents,
		"mistyped definition":     testMistyped,
		"scaler yields":           testScalerYields,
		"long names":              testLongTraits,
		"nothing defined":         testUndefined,
		"statuses of others":      testOtherStatuses,
		"named revision":          testNamedRevision,
		"changed trait":           testChangedTrait,
		"deletion":                testDeletion,
		"deleted Component":       testDeletedComponent,
		"foreign finalizers":      testForeignFinalizers,
		"conditions are calm":     testCalm,
		"questions":               testQuestions,
		"quiet change":            testQuietChange,
		"later fields":            testLaterFields,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}
