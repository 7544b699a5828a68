// Package azure is the pack for the resources of Azure Resource Manager (ARM), with owners and
// typed references.
//
// The doc.go of pkg/external explains the life of an object. This package has the parts that are
// specific to ARM. A kind has no Go type: the catalogue (api/azure/catalogue) has the names, the
// owner, the shape and the references of each ARM type, and kind.external makes an external.Kind
// from the catalogue.
//
// # Kinds on demand
//
// The catalogue has thousands of kinds, and the API server has the CustomResourceDefinitions of the
// kinds in use. When a CustomResourceDefinition is installed, external.Engine finds the kind by
// discovery, and provider.discover in setup.go adds the kind. [Enable], which `kinship azure
// enable` calls, writes the CustomResourceDefinitions and the rights.
//
// # Files
//
//   - relations.go: the owner, the references and the Secrets of an object, as edges;
//   - secrets.go: the values of sensitive fields, from Secrets;
//   - address.go: the ARM id of an object, from its owner;
//   - body.go: the body of a PUT, and in which fields a resource differs;
//   - actuator.go: the requests; failure.go: the classes of errors;
//   - state.go: which part of a resource is in the status, and whether the resource is usable;
//   - connect.go: the credentials of an object;
//   - policies.go: the guards in the API server.
package azure
