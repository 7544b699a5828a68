// Package emulator is an OpenStack in memory: an HTTP server that speaks as much
// of Keystone v3, Neutron v2.0, Nova v2.1, Glance v2, Cinder v3 and Manila v2 as
// the kinds of the openstack pack use.
//
//	cloud, err := emulator.Start(emulator.Options{})
//	if err != nil {
//		return err
//	}
//	defer cloud.Close()
//	secret.Data["clouds.yaml"] = []byte(cloud.CloudsYAML())
//
// It is there for what a real cloud can't do on demand: answer after 200 ms, fail
// once, drop a connection after it has done what was asked, forget its tokens, and
// say afterwards exactly which calls were made and what is left over. The rules
// that a controller runs into are kept: what is in use can't go, duplicates are
// refused, addresses run out, states change in time. That they are the rules of
// OpenStack is proved by the tests of package contract, which pass against this
// server and against the real services.
//
// # Rooms
//
// A [resource] is a row of data: path, envelope, attributes, and the functions that
// hold the rules of one kind. resource.go turns it into the five requests that all
// kinds have. store.go keeps the objects, serve.go leads a request to its handler,
// control.go holds the knobs. The rest is one file per kind or group of kinds, by
// service.
package emulator
