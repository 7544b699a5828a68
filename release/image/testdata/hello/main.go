// Command hello prints its version.
package main

import "fmt"

// The linker sets version by -X main.version.
var version = "dev"

func main() { fmt.Println("hello", version) }
