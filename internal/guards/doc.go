// Package guards watches what protects the operator's objects in the API server: webhook configurations, admission
// policies and their bindings.
//
// A [Monitor] of each pack compares the guards in the cluster with the templates of the pack, stops the pack's
// reconcilers while a guard is missing or altered, restores the guard with --install, and has the objects judged again
// that were written meanwhile. A [Recorder] keeps what must outlive the process in a Lease. A [TrustWriter] keeps the
// certificate and the secret path of webhook configurations current.
package guards
