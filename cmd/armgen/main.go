// Command armgen makes a catalogue of Azure's resource types from ARM deployment schemas.
package main

import (
	"os"

	"github.com/kinship-dev/kinship/internal/gen/azure/command"
)

func main() {
	if err := command.New().Execute(); err != nil {
		os.Exit(1)
	}
}
