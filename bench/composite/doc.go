// Composite measures the cost of Deployments that IotConnectors create, compared with the same
// Deployments by plain parallel server-side apply, on the same control plane and in the same run.
// rig.same checks that both ways create the same Deployments. The plain Deployments have no
// ownerReferences, and rig.plain creates the ServiceAccounts of their Pods before the measurement.
//
//	go run ./bench/composite --connectors 500 --each 4
//
// The program starts a control plane of its own. rig.plain and rig.composed alternate, each in a
// namespace that rig.clear deletes before the next measurement. Both end when every Deployment is
// Available. The clients send as many concurrent requests as the operator has workers. The program
// prints:
//
//   - seconds until all Deployments are Available, for both ways, and their ratio;
//   - seconds until all IotConnectors are Ready;
//   - writes and reads per Deployment, and writes per IotConnector, by apiserver_request_total;
//   - requests about the kinds of the pack iot during --idle;
//   - milliseconds until the operator has restored a Deployment that another client edited or
//     deleted.
//
// With --max-ratio, --max-deployment, --max-connector and --max-idle, the program prints all
// figures and then fails if a figure is above its limit.
//
// rig.go has the control plane and the operator, measure.go both ways, plain.go the objects of the
// plain way, and drift.go the edits and deletions.
package main
