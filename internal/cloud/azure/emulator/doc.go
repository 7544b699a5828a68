// Package emulator is Azure Resource Manager (ARM) in memory: an HTTP server that stores resources
// of any type by id.
//
//	cloud, err := emulator.Start(emulator.Options{})
//	if err != nil {
//		return err
//	}
//	defer cloud.Close()
//	client, err := azure.NewClient(azure.Options{Endpoint: cloud.URL()})
//
// A real cloud can't do the following on demand: answer after 200 ms, fail once, drop a connection
// after the request was carried out, and list the refused requests with their reasons. The [Server]
// enforces the rules of ARM that matter to a controller: owners and references must exist and be
// provisioned, a resource in use can't be deleted, the deletion of a resource group deletes all its
// resources, a PUT of a parent replaces the children in its body, and operations take time.
//
// replay_test.go replays recorded exchanges with ARM, which proves that these are the rules of ARM.
//
// # Files
//
// A [Type] is a row of facts about a type of resources (table.go); [Observed] has the rows of the
// recordings (observed.go), and [Options.Types] may replace the rows. serve.go passes a request to
// resource.go (GET, PUT, DELETE), list.go, operation.go (polls) or deployment.go, whose templates
// template.go reads. reference.go finds the ids in a body and the users of a resource. body.go
// writes a resource as ARM does: with defaults, etags, and children. refusal.go has the forms of
// errors, fault.go and control.go the knobs.
//
// # Time
//
// The [Server] has no background work. Operations that are due end before the next request is
// handled, by [Options.Clock].
package emulator
