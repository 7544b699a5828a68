// Package iot is the pack for seed 2: IotConnector, one object that stands for many
// Deployments, and IotConnectorRelease, which upgrades all of them.
//
// The way of an object through the pack:
//
//   - An IotConnector appears. The mutating handler gives it its finalizer, the
//     validating one checks what a schema can't, and that its author may create
//     Deployments (validate.go).
//   - The controller (reconciler.go) renders what it wants: the shared identity
//     (identity.go), and its Deployments as version 0 (v0.go) or version 1 (v1.go)
//     has them, each with a Pod (pod.go).
//   - pkg/apply makes it so, and the inventory goes into the status (inventory.go).
//   - Deployments become available, somebody edits or deletes one. The pack's own
//     cache (view.go) keeps the little that has to be known of them, and wakes the
//     controller.
//   - The version goes up. The former Deployments stay until all new ones are
//     available: see reconciler.mayPrune.
//   - The IotConnector is deleted. Its Deployments go before the identity that their
//     Pods act as (finish.go).
//
// A release (release.go decides, rollout.go acts) does to IotConnectors what any
// client may do, with pkg/iot, a few at a time.
//
// To drop version 0 one day, delete v0.go and what no longer compiles.
package iot
