#!/usr/bin/env bash
# Runs a command with KINSHIP_OPENSTACK_CLOUDS set to real services on loopback,
# which it installs and starts when they don't run, and stops if it started them.
#
#   test.sh COMMAND...
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export OPENSTACK_STATE=${OPENSTACK_STATE:-${TMPDIR:-/tmp}/openstack-state}

if [[ -z ${KINSHIP_OPENSTACK_CLOUDS:-} ]]; then
  if ! "$here/openstack.sh" status >/dev/null 2>&1; then
    "$here/openstack.sh" install
    trap '"$here/openstack.sh" down' EXIT
    "$here/openstack.sh" up
  fi
  export KINSHIP_OPENSTACK_CLOUDS=$OPENSTACK_STATE/clouds.yaml
fi
"$@"
