package usage_test

// quietRows run one after the other, before all other rows: they count requests or wait until
// there are none.
var quietRows = []row{
	{"idle costs nothing", testIdle},
	{"at most 4 writes and no reads until Ready", testCost},
	{"at most 4 requests for a release", testReleaseCost},
	{"at most 2 passes until Ready", testPasses},
	{"webhook rules appear for kinds in use and are trimmed", testRules},
	{"metrics", testMetrics},
	// They keep namespaces from being deleted, which other rows wait for.
	{"group silent", testGroupSilent},
	{"group silent, Usage deleted", testSilentUsageDeleted},
}

// patientRows are the rows of the table whose effects must happen within the grace period.
var patientRows = []row{
	{"bulk deletion keeps order", testBulk},
	{"lone deletion lifts", testLift},
}

// rows are in the order of the table in specs/usage.md.
var rows = []row{
	{"conditions are calm", testCalm},

	// using object gone -> used object deletable
	{"release", testRelease},
	{"release with the last user", testReleaseWithTheLast},
	{"release, composed", testComposed},

	// replay of a refused deletion
	{"replay", testReplay},
	{"replay, not recorded", testNoReplay},
	{"replay, uid", testReplayUID},
	{"replay, expired", testReplayExpiry},
	{"replay, right checked again", testReplayRights},
	{"replay, handed over", testReplayHandedOver},
	{"replay, handed over to one that goes", testReplayHeirGoes},
	{"replay, not known who holds", testReplayUndecided},
	{"replay, taken over on the way", testReplayTaken},
	{"replay, denied by somebody else", testReplayDenied},
	{"replay, garbage collector", testGarbageCollector},
	{"replay, garbage collector and a set", testGarbageCollectorSet},

	// backup and restore
	{"restored", testRestored},
	{"backup page", testBackupPage},

	// blocked DELETE, first and repeated
	{"refused DELETE costs nothing", testRefusedCost},

	// used object recreated; label stripped
	{"used object recreated", testRecreated},
	{"used object later", testUsedLater},
	{"used object going", testUsedGoing},
	{"used object missing", testMissingDelete},
	{"label stripped", testStripped},

	// namespaced Usage of a cluster-scoped object; ClusterUsage of a namespaced kind
	{"cluster-scoped used object", testClusterScopedUsed},
	{"cluster-scoped used object, selected", testClusterScopedSelected},
	{"ClusterUsage with namespace", testClusterUsage},
	{"ClusterUsage without namespace", testClusterUsageNamespace},
	{"Usage across namespaces", testCrossNamespace},

	// spec changes
	{"spec changes", testSpecChanges},
	{"spec changes to a missing using object", testByChangedToMissing},

	// two Usages of one object deleted together
	{"two deleted together", testTogether},
	{"one deleted, one created", testTakenOver},

	// using object recreated, never existed
	{"using object recreated", testUsingRecreated},
	{"using object never existed", testNeverExisted},
	{"using object deleted in the foreground", testForegroundUsing},
	{"using object of a controlled Usage", testControlledUsage},

	// conditions
	{"conditions", testConditions},
	{"events", testEvents},
	{"events, garbage collector first", testEndedByCollector},
	{"status is the operator's", testDirectStatus},

	// Usage deleted in bulk
	{"lone deletion lifts, reason only", testLiftReason},

	// namespace and CRD deletion
	{"namespace refused", testNamespaceRefused},
	{"namespace refused, used from outside", testNamespaceRefusedFromOutside},
	{"namespace ends in order", testNamespaceEnds},
	{"namespace with composed Usages ends", testNamespaceWithComposed},
	{"namespace used", testNamespaceObject},
	{"definition refused", testDefinitionRefused},
	{"definition ends", testDefinitionEnds},
	{"definitions of Usages refused", testOwnDefinitions},
	{"delete-collection", testDeleteCollection},

	// refusal text
	{"refusal", testRefusal},
	{"refusal with many users", testManyUsers},
	{"refusal in kubectl", testKubectlRefused},

	// garbage collector back-off
	{"owner deleted", testOwnerDeleted},

	// cycles
	{"cycle refused", testCycleRefused},
	{"cycle of one", testCycleItself},
	{"of itself", testProtectsItself},
	{"cycle as condition", testCycleCondition},
	{"cycle broken", testCycleBroken},
	{"cycle through a selector", testCycleSelected},
	{"cycle of sets", testCycleOfSets},
	{"cycle of one set", testSetUsesItself},
	{"cycle of four sets", testCycleOfFourSets},
	{"no cycle of many", testManySets},

	// sets
	{"set used", testSetUsed},
	{"set using", testSetUsing},
	{"set empty", testSetEmpty},
	{"selector resolved once", testResolved},
	{"selector unmatched", testUnmatched},
	{"selector by controller", testControllerRef},

	// installation
	{"kind installed later", testKindLater},
	{"kind vanishes", testKindVanishes},
	{"version vanishes", testVersionVanishes},
	{"eviction", testEviction},

	// operations
	{"break glass", testBreakGlass},
	{"break glass for another Usage", testBreakGlassOther},
	{"break glass for an eviction", testBreakGlassEviction},

	// facts 1.1: the API
	{"kinds and versions", testKinds},
	{"printer columns", testColumns},
	{"validation", testCEL},
	{"impossible", testImpossible},
	{"large objects", testLarge},
	{"long names", testLongNames},
}
