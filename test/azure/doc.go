// Package azure tests the kinds of the pack azure against an emulator of Azure Resource Manager, as a user sees them.
package azure
