// Package azure makes a catalogue of ARM types from ARM deployment schemas.
//
// [Generate] runs the stages. Each is a function from [Model] to Model, in a file of its own:
//
//   - readModel (read.go, union.go) turns the schemas that [Load] found into a Model, and adds the
//     [Facts] of each type (facts.go): scopes, secrets, read-only places, and actions.
//   - setOwners (owners.go) finds the owner of each resource.
//   - setNames (names.go) finds the kind in Kubernetes of each resource.
//   - separateChildren (children.go) takes the collections of children out of their owners.
//   - openEnums (enums.go) opens the enums to which Azure adds values.
//   - setReferences (references.go, targets.go) finds ARM ids and what they may refer to.
//   - setSecrets (facts.go) makes the values that the Facts call secret Secrets.
//   - flatten (flatten.go) moves the properties of "properties" to the top.
//
// toCatalogue (catalogue.go) writes the Model as a catalogue of package api/azure/catalogue, and GoPackages
// (gotypes.go) declares the typed packages.
//
// Where a schema leaves a question open, no stage guesses. A question about one resource refuses that
// resource: [catalogue.Refusal] says what to write in the [Config]. An ARM id that may also be another
// id fails the whole run, because a property that is a string today can't become a reference later.
package azure
