// Package render writes graphs and trees for people and programs.
//
// Package render knows nothing of clusters. The input is a [Graph] of nodes and edges, a
// [Tree] of lines, or a table of cells. [DOT], [Mermaid], [JSON], [Lines] and [Table] are
// deterministic, and their output is well formed for any input: no name ends a string in
// DOT or Mermaid, and [Plain] keeps a name from sending an escape sequence to a terminal.
package render
