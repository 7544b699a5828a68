package v1alpha1

// Types of conditions.
const (
	// ConditionReady sums up an object: what its spec asks for is so.
	ConditionReady = "Ready"
	// ConditionEffective says of a protection that its lock is really on every
	// object it protects, as last seen in the cluster.
	ConditionEffective = "Effective"
)

// Reasons of conditions. They are part of the API: tools match on them.
const (
	// ReasonAvailable is the reason of a true Ready condition.
	ReasonAvailable = "Available"
	// ReasonLocked is the reason of a true Effective condition.
	ReasonLocked = "Locked"
	// ReasonLocking says that the lock is not yet on every protected object.
	ReasonLocking = "Locking"
	// ReasonNotEnforced says that the API server may not refuse the deletion of
	// protected objects: what has it do so is missing, or was altered.
	ReasonNotEnforced = "NotEnforced"
	// ReasonUsedNotFound says that the object to protect does not exist.
	ReasonUsedNotFound = "UsedNotFound"
	// ReasonUsingNotFound says that the object that would use another does not
	// exist, so that there is nothing to protect the other one for.
	ReasonUsingNotFound = "UsingNotFound"
	// ReasonSelectorUnmatched says that no object matches a selector.
	ReasonSelectorUnmatched = "SelectorUnmatched"
	// ReasonKindNotFound says that the cluster does not serve a kind, now.
	ReasonKindNotFound = "KindNotFound"
	// ReasonInvalid says that the spec can never be fulfilled as it is written.
	ReasonInvalid = "Invalid"
	// ReasonCycle says that objects would wait for one another for ever.
	ReasonCycle = "Cycle"
	// ReasonNotGranted says that a reference into another namespace is neither
	// covered by its author's own rights nor by a ReferenceGrant there.
	ReasonNotGranted = "NotGranted"
	// ReasonReading says that the objects of a kind are still being read.
	ReasonReading = "Reading"
	// ReasonWaitingUsingDeleted says that a deleted Usage stays until the using
	// object is gone.
	ReasonWaitingUsingDeleted = "WaitingUsingDeleted"
	// ReasonReleasing says that a lock is being taken off.
	ReasonReleasing = "Releasing"
	// ReasonFailed says that the last attempt failed and will be repeated.
	ReasonFailed = "Failed"
)
