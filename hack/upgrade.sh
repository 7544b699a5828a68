#!/usr/bin/env bash
# Tests an upgrade from the operator of hack/previous.sh to this one, and back.
#
#	hack/upgrade.sh ./test/upgrade ./test/chaos
#	KUBEBUILDER_ASSETS=$PWD/bin/k8s-1.35 hack/upgrade.sh ./test/upgrade
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
KINSHIP_PREVIOUS=$(hack/previous.sh)
export KINSHIP_PREVIOUS
exec "${GO:-go}" test "$@" -vet=off -count=1 -v -run 'TestUpgrade|TestMatrix'
