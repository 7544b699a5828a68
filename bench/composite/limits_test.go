package main

import (
	"strings"
	"testing"
	"time"
)

// TestLimits shows which figures fail a run.
func TestLimits(t *testing.T) {
	f := figures{
		cost: cost{took: 15 * time.Second}, deploymentWrites: 20, deploymentReads: 10, connectorWrites: 50, idleRequests: 1,
	}
	none := flags{connectors: 10, each: 2, maxRatio: -1, maxDeployment: -1, maxConnector: -1, maxIdle: -1}
	cases := map[string]struct {
		reason string
		limit  func(*flags)
		want   string
	}{
		"none":         {"without limits nothing fails", func(*flags) {}, ""},
		"kept":         {"what is just allowed is allowed", func(o *flags) { o.maxRatio, o.maxConnector = 1.5, 5 }, ""},
		"slow":         {"beside 10 s on average", func(o *flags) { o.maxRatio = 1.4 }, "ratio: 1.50, at most 1.40 may be"},
		"Deployments":  {"reads count", func(o *flags) { o.maxDeployment = 1 }, "for each Deployment: 1.50"},
		"IotConnector": {"each has its share", func(o *flags) { o.maxConnector = 4.5 }, "for each IotConnector: 5.00"},
		"idle":         {"zero is a limit", func(o *flags) { o.maxIdle = 0 }, "while idle: 1.00"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := none
			c.limit(&o)
			err := f.exceeded(o, cost{took: 8 * time.Second}, cost{took: 12 * time.Second})
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: error %v", c.reason, err)
			}
		})
	}
}
