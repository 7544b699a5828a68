// Package iot is the pack for seed 2: an IotConnector is composed of many Deployments, and an
// IotConnectorRelease upgrades many IotConnectors.
//
// An IotConnector passes through these files:
//
//   - admission.go: the mutating webhook adds the finalizer. The validating webhook refuses a spec
//     that can never work, and an author without the right to create Deployments.
//   - connector.go: the steps of the reconciler, in reconcile.Pass. The step "render" renders the
//     identity (identity.go) and the Deployments (deployment.go) of version 0 (version0.go) or
//     version 1 (version1.go).
//   - composition.go: pkg/apply creates, changes and prunes objects. status.inventory lists the
//     objects (inventory.go). After a change of spec.version, the former Deployments are kept
//     until every new Deployment is available, with as many Pods (replicas.go).
//   - composed.go: the cache of the composed objects. apply.Stores wakes the reconciler when a
//     Deployment becomes available, or when another client edits or deletes a Deployment.
//   - readiness.go and status.go: from the Deployments to the conditions of the IotConnector.
//   - deletion.go: the Deployments are deleted before the identity that their Pods use.
//
// An IotConnectorRelease changes the spec of IotConnectors with pkg/iot, as any client may, a few
// IotConnectors at a time. releaseplan.go decides, release.go writes.
//
// To remove version 0 one day, delete version0.go and the code that no longer compiles.
package iot
