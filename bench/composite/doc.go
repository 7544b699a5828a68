// Composite measures the cost of Deployments that IotConnectors create, compared with the same
// Deployments by plain parallel server-side apply, on the same control plane and in the same run.
// The program checks that both ways create the same Deployments. The plain Deployments have no
// ownerReferences, and the ServiceAccounts of their Pods are created before the measurement.
//
//	go run ./bench/composite --connectors 500 --each 4
//
// The program starts a control plane of its own. Both ways alternate, each in a namespace of its
// own that is emptied before the next measurement, and end when every Deployment is Available. The
// clients send as many concurrent requests as the operator has workers. The program prints:
//
//   - seconds until all Deployments are Available, for both ways, and their ratio;
//   - seconds until all IotConnectors are Ready;
//   - writes and reads per Deployment, and writes per IotConnector, by the API server's counters;
//   - requests about these kinds while nothing happens;
//   - milliseconds until a Deployment that another client edited or deleted is restored.
//
// With --max-ratio, --max-deployment, --max-connector and --max-idle, the program prints all
// figures and then fails if a figure is above its limit.
//
// rig.go has the control plane and the operator, measure.go the two ways, plain.go the objects of
// the plain way, and drift.go the edits and deletions.
package main
