// Package iot is the client library for whoever provisions IotConnectors: one
// [Provider] for each type of what can be provisioned, and what has to be known of
// an IotConnector on the way.
//
//	fhir := iot.Provider{Client: c, Type: iot.TypeFhirConverter}
//	err := fhir.Provision(ctx, key, iot.Spec{Name: "fhir-1", Containers: containers})
//	...
//	err = fhir.Deprovision(ctx, key, "fhir-1")
//
// All of one IotConnector is in one object, so provisioning is reading it, changing
// one's own entry, and writing it back. Others do the same at the same time: a
// write that comes second is refused by the API server, and is tried again on what
// the first one wrote, until a deadline. So nothing is lost, and nothing is done
// twice.
//
// An IotConnector of version 0 is upgraded on the way. [Upgrade] and [Rollback] are
// what everybody means by that, the operator as well; they are pure functions.
package iot
