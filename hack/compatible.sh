#!/usr/bin/env bash
# Refuses definitions that are incompatible with those of before: a manifest that was accepted would be
# refused, a field would be dropped, or a version would not be served. Before is the newest tag or, as
# long as there is no tag, the commit of hack/previous.sh. hack/compatible.txt has changes that are
# accepted, each with its reason.
#
# Compared are config/crd, and the definitions that "kinship azure enable" makes of the kinds with Go types: those of
# before are made by the armgen of before.
#
#	hack/compatible.sh [DIRECTORY]     compares config/crd, or other definitions alone
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly AZURE=(
	'Microsoft.Batch/*@2017-09-01' 'Microsoft.Compute/*@2019-07-01'
	'Microsoft.Network/*@2020-03-01' 'Microsoft.Resources/*@2018-05-01'
)
previous=$(hack/previous.sh --commit)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -vE '^(#|$)' hack/compatible.txt >"$work/accepted.txt" || true

compare() { # BEFORE AFTER, which are directories
	go run ./hack/openapi "$1" >"$work/before.json"
	go run ./hack/openapi "$2" >"$work/after.json"
	go tool -modfile=tools/oasdiff/go.mod oasdiff breaking --severity-levels tools/oasdiff/severity.txt --fail-on ERR \
		--err-ignore "$work/accepted.txt" "$work/before.json" "$work/after.json"
}

mkdir "$work/tree"
git archive "$previous" | tar -x -C "$work/tree"
compare "$work/tree/config/crd" "${1:-config/crd}"
if [ $# = 0 ]; then
	(cd "$work/tree" && go run ./cmd/armgen crds "$work/azure-before" "${AZURE[@]}")
	go run ./cmd/armgen crds "$work/azure-after" "${AZURE[@]}"
	compare "$work/azure-before" "$work/azure-after"
fi
echo "the definitions are compatible with those of $previous"
