// Package azure is the pack for the resources of Azure Resource Manager (ARM), with owners and typed
// references.
//
// The doc.go of pkg/external explains the life of an object. This package has the parts that are
// specific to ARM. There is no Go type for a kind: the catalogue (api/azure/catalogue) knows the names,
// the owner, the shape and the references of each ARM type, and [kind] makes an external.Kind of these.
//
// # Kinds on demand
//
// The catalogue has thousands of kinds, and the API server has the definitions of the kinds in use. When
// a definition is installed, the Engine finds the kind by discovery, and the pack adds the kind
// (setup.go). The definitions and the rights come from [Enable], which `kinship azure enable` calls.
//
// # Rooms
//
//   - relations.go: the owner, the references and the Secret of an object, as edges;
//   - address.go: the ARM id of an object, from its owner;
//   - body.go: the body of a PUT, and in which fields a resource differs;
//   - actuator.go: the requests; failure.go: the classes of errors;
//   - state.go: what of a resource is in the status, and whether it serves;
//   - connect.go: the credentials of an object;
//   - policies.go: the guards in the API server.
package azure
