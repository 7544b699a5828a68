package emulator

import (
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkThousandResources makes a tree of a thousand resources and deletes them one by one: a network with subnets,
// and an interface in each.
func BenchmarkThousandResources(b *testing.B) {
	for b.Loop() {
		w := newWorld(b).ready(group, located("")).ready(vnet, located(""))
		for i := range 500 {
			one := fmt.Sprintf("%s/subnets/%d", vnet, i)
			w.ready(one, `{}`).ready(fmt.Sprintf("%s%d", nic, i), nicIn(one))
		}
		for i := range 500 {
			for _, path := range []string{fmt.Sprintf("%s%d", nic, i), fmt.Sprintf("%s/subnets/%d", vnet, i)} {
				if r := w.delete(path); r.status != http.StatusAccepted {
					b.Fatalf("DELETE %s: %d %v", path, r.status, r.body)
				}
				w.settle()
			}
		}
	}
}
