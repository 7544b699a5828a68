// Package dataflow fills fields of objects that an operator is about to apply, with values that a
// user gives, and with values of other objects. For example, a user writes that status.endpoint of
// a Database is the value of spec.url of a Deployment: the operator applies the Deployment when the
// Database has an endpoint. The package works for any kind.
//
// # Paths of users
//
// Users write the paths. [ParseWritable] refuses the fields that only an operator may set, such as
// metadata.ownerReferences and metadata.namespace: a user could leave the namespace otherwise. A
// [relation.Budget] bounds the values that all paths of one user set. Every error about a path is a
// [relation.FieldError], which names the field that the user wrote.
//
// # Values of other objects
//
// A [Flow] has the objects ([Node]) with their outputs and inputs. An [Output] is a field of a
// Node's object, and an [Input] writes the [Output] with the name Input.Output into fields of its
// Node's object. [Flow.Run] finds the values, writes the values, and returns every missing value
// with the reason ([Missing]). An object with a missing value is in Result.Held: the caller MUST
// NOT apply the object in this pass.
//
// A [Condition] says when a value may be passed. A [Store] is an object that stores values between
// two objects, such as a ConfigMap: an [Output] makes the [Store] by operations as in JSON Patch
// (RFC 6902), and an [Input] reads any existing object in the same way.
//
// Objects that wait for values of each other would wait for ever: [Flow.Run] refuses such a cycle,
// and the error has the whole cycle.
//
// # Rights of authors
//
// [Flow.Run] reads an [Output] only from an object for which [Flow.IsOwn] is true. The caller MUST
// check that the author may read the kinds of [Node.Reads], and may create the kinds of
// [Node.Creates].
package dataflow
