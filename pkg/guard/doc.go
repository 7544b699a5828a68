// Package guard keeps objects alive while other objects need them.
//
// A [Lock] puts a label on every object that is held, and removes the label when the object is
// free. The admission webhook selects objects by this label (objectSelector), so that an object
// which no Usage protects never depends on the webhook. A [Refusal] is the answer of the webhook.
// [Rules] keeps the rules of a ValidatingWebhookConfiguration at exactly the held kinds, and
// confirms by a dry run that the API server calls the webhook.
//
// [Finalizers] is the guard controller of one kind, such as Network. The API server accepts the
// deletion of a Network, and completes the deletion when no Subnet refers to the Network any more.
package guard
