package v1alpha1

// Types of conditions.
const (
	// ConditionReady sums up an object: the cluster, or the cloud, matches the spec.
	ConditionReady = "Ready"
	// ConditionEffective of a Usage tells whether the lock is on every protected object, as last
	// seen in the cluster.
	ConditionEffective = "Effective"
)

// Reasons of conditions are part of the API: tools match on these words.
const (
	// ReasonAvailable is the reason of a true Ready condition.
	ReasonAvailable = "Available"
	// ReasonLocked is the reason of a true Effective condition.
	ReasonLocked = "Locked"
	// ReasonLocking says that the lock is not yet on every protected object.
	ReasonLocking = "Locking"
	// ReasonNotEnforced says that the API server may let deletions of protected objects through:
	// the webhook configuration or the policy of the operator is missing or altered.
	ReasonNotEnforced = "NotEnforced"
	// ReasonUsedNotFound says that the object in spec.of does not exist.
	ReasonUsedNotFound = "UsedNotFound"
	// ReasonUsingNotFound says that the using object in spec.by does not exist, so that the object
	// in spec.of needs no protection.
	ReasonUsingNotFound = "UsingNotFound"
	// ReasonSelectorUnmatched says that no object matches a selector.
	ReasonSelectorUnmatched = "SelectorUnmatched"
	// ReasonKindNotFound says that the API server does not serve a kind at present.
	ReasonKindNotFound = "KindNotFound"
	// ReasonInvalid says that the spec can never be fulfilled as written.
	ReasonInvalid = "Invalid"
	// ReasonCycle says that objects would wait for one another for ever.
	ReasonCycle = "Cycle"
	// ReasonNotGranted says that neither the author's own rights nor a ReferenceGrant allow a
	// reference into another namespace.
	ReasonNotGranted = "NotGranted"
	// ReasonReading says that the objects of a kind are still being read.
	ReasonReading = "Reading"
	// ReasonWaitingUsingDeleted says that a deleted Usage waits until the using object is gone.
	ReasonWaitingUsingDeleted = "WaitingUsingDeleted"
	// ReasonReleasing says that the lock is being removed from an object.
	ReasonReleasing = "Releasing"
	// ReasonFailed says that the last attempt failed. The operator will repeat the attempt.
	ReasonFailed = "Failed"
)
