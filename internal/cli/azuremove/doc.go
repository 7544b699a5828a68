// Package azuremove writes manifests of the pack azure for what exists already: for resources in Azure, for
// their exported bodies, and for the objects of Azure Service Operator v2. The commands
// `kinship azure import` and `kinship azure convert` call it. The operator does not.
//
// import.go makes an object of one body, importer.go those of a resource and its children in Azure, and
// convert.go one of a foreign manifest.
package azuremove
