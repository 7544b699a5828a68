// Command docs writes the pages in docs/ as a web site into a directory: `make docs` runs the
// command.
package main

import (
	"fmt"
	"os"

	"github.com/kinship-dev/kinship/internal/docs"
)

func main() {
	if err := run(".", os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// run writes the site with docs.WriteSite if docs.CheckLinks finds no broken link.
func run(root, out string) error {
	pages, err := docs.All(root)
	if err != nil {
		return err
	}
	if err := docs.CheckLinks(root, pages); err != nil {
		return fmt.Errorf("check links: %w", err)
	}
	return docs.WriteSite(root, out, pages)
}
