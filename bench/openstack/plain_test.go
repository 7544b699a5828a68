package main

import (
	"net/http"
	"testing"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
)

func TestPlain(t *testing.T) {
	cloud, p := newCloud(t)
	s := shape{networks: 3, ports: 2, perRouter: 2}
	cloud.ResetCalls()
	if _, err := p.run(t.Context(), s, plainCalls); err != nil {
		t.Fatal(err)
	}
	if calls, want := cloud.CallCount("network"), 2*len(s.elements()); calls != want {
		t.Errorf("%d calls, want %d: one makes, one deletes", calls, want)
	}
	if left := cloud.Inventory(); len(left) > 0 {
		t.Errorf("left in the cloud: %v", left)
	}
}

func TestPlainLeavesNothing(t *testing.T) {
	for name, fault := range map[string]emulator.Fault{
		"while it makes":   {Method: http.MethodPost, Resource: "ports", Skip: 2, Status: http.StatusBadRequest},
		"while it deletes": {Method: http.MethodDelete, Resource: "subnets", Skip: 1, Status: http.StatusConflict},
	} {
		t.Run(name, func(t *testing.T) {
			cloud, p := newCloud(t)
			cloud.AddFault(fault)
			if _, err := p.run(t.Context(), shape{3, 2, 2}, plainCalls); err == nil {
				t.Error("a call failed, and nobody says so")
			}
			if left := cloud.Inventory(); len(left) > 0 {
				t.Errorf("left in the cloud: %v", left)
			}
		})
	}
}

func newCloud(t *testing.T) (*emulator.Server, *plain) {
	t.Helper()
	cloud, err := emulator.Start(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() }) // It ends with us anyway.
	p, err := newPlain(t.Context(), []byte(cloud.CloudsYAML()), "openstack")
	if err != nil {
		t.Fatal(err)
	}
	return cloud, p
}
