// Package authorise answers two questions before anything is done for the author
// of an object: might he have done it himself, and does the other namespace
// agree.
//
// A [Reviewer] asks the API server (SubjectAccessReview) and keeps the answers
// for a few seconds, so that a thousand objects by one author cost a handful of
// requests. [Granted] looks for a ReferenceGrant.
package authorise
