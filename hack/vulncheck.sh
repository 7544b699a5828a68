#!/usr/bin/env bash
# Runs `make vulncheck`. A machine that can't reach the database of vulnerabilities can't check: the script
# says so and passes, because the code is not at fault. A finding fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
make vulncheck 2>&1 | tee "$log" || status=$?
if ((status != 0)) && grep -q '^govulncheck: fetching vulnerabilities: ' "$log"; then
	echo "vulnerabilities are not checked: the database can't be reached from here; VULNDB names a mirror"
	exit 0
fi
exit "$status"
