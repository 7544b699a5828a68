// Package story tells on a terminal what Kinship does, and checks every step of
// what it tells.
//
// A [Story] is a title and a list of steps; a [Step] is a name and a function
// that does something to the cluster and says what it saw. [Tell] runs them with
// a tick and a time each, and a step that saw something else than it expected
// ends its story with both. A pack adds its stories by adding to a list, as
// usage.go does.
//
// Steps act through a [Stage], which has the few words that they are made of:
// apply, delete, be refused, await, be gone. They read the manifests of package
// examples. What another controller would do in life, such as a composite that
// renders objects or a provider that takes its time to tear one down, the stage
// plays: [Compose], Stage.holdDeletion, Stage.dropFinalizer.
package story
