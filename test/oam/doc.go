// Package oam tests applications, components, traits and scopes, and the rights of their authors, as a user sees them.
package oam
