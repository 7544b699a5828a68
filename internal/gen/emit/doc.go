// Package emit writes Go source files from declarations.
//
// A generator describes a [Package] with its [File] values, and in each File a list of [Struct],
// [Named], [Consts], [Var] and [Func]. [Package.Render] returns the files as gofmt formats them.
// The same Package always gives the same bytes: Files and Declarations keep their order, Imports
// are sorted in three groups (standard library, third party, Module), and each Doc is wrapped at
// [Columns].
//
// [Package.Render] returns an error rather than a file that doesn't compile or has another meaning.
// Errors are: a name declared twice, two fields of a [Struct] with the same JSON name, a [Func]
// named like a [Field], two names for an [Import] path, a qualifier such as metav1 without an
// Import, a Type or Body that doesn't parse, a marker that gofmt would change.
//
// A Doc may hold foreign text, such as the description in an ARM schema. No line of a Doc becomes
// a marker ("+optional"), a heading ("# Title"), a directive or a link definition.
package emit
