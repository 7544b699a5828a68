// Package render writes graphs and trees for people and programs.
//
// It knows nothing of clusters: its model is a [Graph] of nodes and edges, a
// [Tree] of lines, and tables of cells. Writers are deterministic, and whatever
// text comes in, what goes out is well formed: a name cannot end a string in DOT
// or Mermaid, nor send a command to a terminal.
package render
