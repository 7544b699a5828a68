// Package operator assembles and runs the operator from the packs.
//
// [Run] installs if asked, becomes the account of the process, and adds to one manager.Manager: the webhook server, for
// each pack a cache and clients of the pack's own account, the monitors of the guards, and the servers of metrics,
// probes and profiles. A pack whose account can't be used is stopped, and the other packs run.
package operator
