// Package iot is the client library for programs that provision IotConnectors. A program has a
// [Provider] for each type that the program provisions, such as [TypeFhirConverter].
//
//	fhir := iot.Provider{Client: c, Type: iot.TypeFhirConverter}
//	err := fhir.Provision(ctx, key, iot.Spec{Name: "fhir-1", Containers: containers})
//	...
//	err = fhir.Deprovision(ctx, key, "fhir-1")
//
// [Provider.Provision] reads the IotConnector, changes the program's entry in spec.deployments,
// and updates the IotConnector. If another program updates the same IotConnector meanwhile, the
// API server answers Conflict, and Provision reads and writes again, until Provider.Deadline. So
// no entry is lost, and no entry is added twice.
//
// An IotConnector of version 0 is upgraded first. [Upgrade] and [Rollback] are pure functions; the
// operator and `kinship iot` use the same functions.
package iot
