package localcluster

import (
	"fmt"

	"github.com/kinship-dev/kinship/internal/freeport"
)

type ports struct {
	etcd, apiServer, controllerManager, scheduler, kwok int
}

// freePorts picks ports without a listener. Another program may take a port first; [Start] then
// tries again with other ports.
func freePorts(apiServer int) (ports, error) {
	result := ports{apiServer: apiServer}
	if apiServer != 0 { // Tried too, so that the error comes now and is plain.
		if err := freeport.Check("127.0.0.1", apiServer); err != nil {
			return ports{}, err
		}
	}
	for _, port := range []*int{
		&result.etcd, &result.apiServer, &result.controllerManager, &result.scheduler, &result.kwok,
	} {
		if *port != 0 {
			continue
		}
		var err error
		if *port, err = freeport.Find("127.0.0.1"); err != nil {
			return ports{}, fmt.Errorf("find a free port: %w", err)
		}
	}
	return result, nil
}
