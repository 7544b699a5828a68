// Package guard keeps objects alive while others need them.
//
// A [Lock] puts a label on every object that is held and takes it off when it is
// not any more. The label is what admission selects by, so that objects nobody
// asked to protect never depend on a webhook. A [Refusal] words what admission
// answers. [Rules] keeps a webhook configuration at exactly the kinds that are
// held, and knows since when the API server really asks.
//
// [Finalizers] keeps objects in another way: their deletion is accepted, and does
// not end before nobody refers to them. It is the guard controller of one kind.
package guard
