// Command hello tells its version.
package main

import "fmt"

// version is set by the linker.
var version = "dev"

func main() { fmt.Println("hello", version) }
