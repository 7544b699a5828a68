//go:build race

package testenv

func init() { raced = true }
