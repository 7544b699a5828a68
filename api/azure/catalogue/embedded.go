package catalogue

import (
	_ "embed" // for arm.catalogue
	"sync"
)

// file has the newest stable api-version of each ARM type, or else the newest preview, and those that the
// typed packages in api/azure are made from. armgen wrote it: make generate-azure.
//
//go:embed arm.catalogue
var file []byte

// Embedded returns the Catalogue that is part of the program. All callers share one.
var Embedded = sync.OnceValues(func() (*Catalogue, error) { return Open(file) })
