// Command hello prints its version.
package main

import "fmt"

// version is set by the linker: -X main.version=V.
var version = "dev"

func main() { fmt.Println("hello", version) }
