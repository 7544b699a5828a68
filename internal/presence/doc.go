// Package presence says which operators run, and with which settings. Each running operator renews a Lease of its own
// ([Announcement]) with its [Settings]. `kinship uninstall`, `kinship doctor` and an installation read the Leases
// ([ReadOperators]). The Lease of the leader election would show only one replica, and only with --leader-elect.
package presence
