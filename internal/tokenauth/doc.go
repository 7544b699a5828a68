// Package tokenauth protects an HTTP handler by Kubernetes tokens. The API server says
// whose token a request carries (TokenReview), and whether that user may get the path
// (SubjectAccessReview of a non-resource URL). Prometheus, for example, sends the token
// of its ServiceAccount.
//
// controller-runtime's metrics filter does the same with k8s.io/apiserver, which adds CEL
// and gRPC to the program: 104 MB instead of 61 MB. It also logs an error, and answers
// 500, for every token that nobody knows.
//
// Answers are kept for a while ([Gate]), so that a scrape every few seconds costs a
// request or two per minute, and callers without a right can't have the operator ask the
// API server as often as they like.
package tokenauth
