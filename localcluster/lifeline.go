package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

// lifelineVar names the file descriptor whose closing ends this process.
const lifelineVar = "KINSHIP_LIFELINE_FD"

// watchLifeline ends the process when its parent is gone. A signal could be
// missed when the parent is killed; a closed pipe cannot.
func watchLifeline() error {
	value, ok := os.LookupEnv(lifelineVar)
	if !ok {
		return nil
	}
	fd, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return fmt.Errorf("read %s: %w", lifelineVar, err)
	}
	pipe := os.NewFile(uintptr(fd), "lifeline")
	if pipe == nil {
		return fmt.Errorf("%s=%s is not an open file descriptor", lifelineVar, value)
	}
	go func() {
		_, _ = io.Copy(io.Discard, pipe) // An error means the pipe is gone, which is what we wait for.
		os.Exit(1)
	}()
	return nil
}
