// Package emulator is Azure Resource Manager (ARM) in memory: an HTTP server that keeps resources of
// any type by id.
//
//	cloud, err := emulator.Start(emulator.Options{})
//	if err != nil {
//		return err
//	}
//	defer cloud.Close()
//	client, err := azure.NewClient(azure.Options{Endpoint: cloud.URL()})
//
// A real cloud can't do the following on demand: answer after 200 ms, fail once, drop a connection after
// the request was carried out, and say afterwards which requests were refused for which reason. The rules
// that a controller runs into are kept: owners and references must exist and be provisioned, a resource in
// use can't be deleted, a resource group takes all its resources along, a PUT of a parent replaces the
// children in its body, and operations take time.
//
// That they are the rules of ARM is proved by a test that replays recorded exchanges with ARM
// (replay_test.go).
//
// # Rooms
//
// A [Type] is a row of facts about one type of resources (table.go); [Observed] has the rows that were
// seen in recordings (observed.go), and [Options.Types] may hand in others. serve.go leads a request to
// resource.go (GET, PUT, DELETE), list.go, operation.go (polls) or deployment.go, whose templates template.go
// reads. reference.go finds the ids in a body and the users of a resource. body.go writes a resource as ARM
// does: with defaults, etags, and children. refusal.go has the forms of errors, fault.go and control.go the
// knobs.
//
// # Time
//
// Nothing runs in the background. Operations that are due end before the next request is handled, by
// [Options.Clock].
package emulator
