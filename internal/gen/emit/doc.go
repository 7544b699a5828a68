// Package emit writes Go source files from declarations.
//
// A generator describes a [Package]: its files, and in each file Structs, Named types,
// Consts, Vars and Funcs. Render returns the files as gofmt leaves them. The same Package
// always gives the same bytes: files and declarations keep the order that the generator gave
// them, imports are sorted in three groups (standard library, third party, own module), and
// doc comments are wrapped at [Columns].
//
// Render refuses a Package rather than write a file that doesn't compile or that means
// something else: a name that is declared twice, two fields with one JSON name, a method
// called like a field, an import name used for two paths, a qualifier that no import
// declares, a type or body that doesn't parse, a marker that gofmt would change.
// Texts of others, such as descriptions of a schema, are safe in Doc: a line of a Doc
// never becomes a marker, a directive, a heading or a link definition.
package emit
