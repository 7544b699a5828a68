#!/usr/bin/env bash
# Prints the URL of the Go vulnerability database for govulncheck: VULNDB, or the files of the newest version of
# the module golang.org/x/vulndb. Fails if the module can't be downloaded.
#
# The module proxy serves the module to machines that can't reach https://vuln.go.dev. govulncheck reads the
# module's directory of OSV files as it is, and fails if it doesn't know the format.
set -euo pipefail
if [[ -n ${VULNDB:-} ]]; then
	echo "$VULNDB"
	exit
fi
cd / # outside of all modules: the download changes no go.sum
module=$("${GO:-go}" mod download -json golang.org/x/vulndb@latest) ||
	{ echo "hack/vulndb.sh: the module golang.org/x/vulndb can't be downloaded: set VULNDB to a mirror of the database" >&2
	exit 1; }
directory=$(sed -n 's/^\t"Dir": "\(.*\)",$/\1/p' <<<"$module")/data/osv
[[ -d $directory ]] || { echo "hack/vulndb.sh: golang.org/x/vulndb has no directory $directory" >&2; exit 1; }
echo "vulnerability database: $directory" >&2
echo "file://$directory"
