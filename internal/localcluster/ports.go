package localcluster

import (
	"fmt"
	"net"
)

type ports struct {
	etcd, apiServer, controllerManager, scheduler, kwok int
}

// freePorts picks ports by binding and releasing them. Another program may take
// one before ours does; [Start] then begins again with others.
func freePorts(apiServer int) (ports, error) {
	result := ports{apiServer: apiServer}
	wanted := []*int{
		&result.etcd, &result.apiServer, &result.controllerManager, &result.scheduler, &result.kwok,
	}
	// All stay bound until the last is found, or the same could come twice.
	listeners := make([]net.Listener, 0, len(wanted))
	defer func() {
		for _, listener := range listeners {
			_ = listener.Close() // Nobody connected.
		}
	}()
	for _, port := range wanted {
		// A port that was asked for is tried too, so that the error comes now and is plain.
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", *port))
		if err != nil {
			return ports{}, fmt.Errorf("find a free port: %w", err)
		}
		listeners = append(listeners, listener)
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return result, nil
}
