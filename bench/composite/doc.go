// Composite measures what it costs to have IotConnectors make Deployments, compared
// with making the same Deployments by plain parallel server-side apply, on the same
// control plane and in the same run. That they are the same is checked. Nobody owns
// those of the plain way, and the accounts of their Pods are there before it begins.
//
//	go run ./bench/composite --connectors 500 --each 4
//
// It starts a control plane of its own. Both ways take turns, each in a namespace
// of its own that is emptied before the next one begins, and end when every
// Deployment is Available. The clients send as many requests at a time as the
// operator has workers. What is printed:
//
//   - seconds until all Deployments are Available, by either way, and their ratio;
//   - seconds until all IotConnectors are Ready;
//   - writes and reads per Deployment, writes per IotConnector, as the API server
//     counts them;
//   - requests about any of it while nothing happens;
//   - milliseconds until a Deployment that somebody edited, or deleted, is back.
//
// With --max-ratio, --max-deployment, --max-connector and --max-idle it fails when a
// figure is above that, after it has printed all of them.
//
// rig.go is the control plane and the operator, measure.go the two ways, plain.go what
// the plain one makes, drift.go the harm.
package main
