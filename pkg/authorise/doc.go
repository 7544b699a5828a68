// Package authorise checks an object's author before the operator acts for the author. For
// example, the author of an IotConnector must have the right to create Deployments, and a Usage
// may only name an object in another namespace if a ReferenceGrant there allows the reference.
//
// [Reviewer.Allowed] sends a SubjectAccessReview to the API server and keeps the answer for 5 s,
// so that 1000 objects by the same author cost a handful of requests. [Granted] looks for a
// ReferenceGrant.
package authorise
