#!/usr/bin/env bash
# Refuses definitions that are incompatible with those of before: a manifest that was accepted would be
# refused, a field would be dropped, or a version would not be served. Before is the newest tag or, as
# long as there is no tag, the commit of hack/previous.sh. hack/compatible.txt has changes that are
# accepted, each with its reason.
#
#	hack/compatible.sh [DIRECTORY]     compares config/crd, or other definitions
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
definitions=${1:-config/crd}
previous=$(hack/previous.sh --commit)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive "$previous" config/crd | tar -x -C "$work"
go run ./hack/openapi "$work/config/crd" >"$work/before.json"
go run ./hack/openapi "$definitions" >"$work/after.json"
grep -vE '^(#|$)' hack/compatible.txt >"$work/accepted.txt" || true
go tool -modfile=tools/oasdiff/go.mod oasdiff breaking --severity-levels tools/oasdiff/severity.txt --fail-on ERR --err-ignore "$work/accepted.txt" \
	"$work/before.json" "$work/after.json"
echo "the definitions are compatible with those of $previous"
