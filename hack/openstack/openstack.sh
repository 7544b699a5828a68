#!/usr/bin/env bash
# Real OpenStack API services on loopback, from Debian packages, for tests.
#
#   openstack.sh install   apt-get install the packages (root, Debian 12)
#   openstack.sh up        create the state (first time) and start the services
#   openstack.sh down      stop the services that `up` started (state is kept)
#   openstack.sh purge     down, and delete the state directory
#   openstack.sh status    pids, memory, API health
#   openstack.sh env       print a clouds.yaml
#
# What is real:  keystone, neutron-server (ML2), glance-api, placement, nova
#                (api, conductor, scheduler, compute manager), cinder (api,
#                scheduler, volume manager), all on MariaDB.
# What is fake:  the back ends: nova.virt.fake.FakeDriver, an ML2 mechanism
#                driver that binds every port without an agent, a volume
#                driver that stores nothing; RPC is oslo.messaging fake://
#                (in memory: nova's four services share one process, and so do
#                cinder's three), so no RabbitMQ, no agents, no hypervisor.
#
# Environment:
#   OPENSTACK_STATE     state directory   (${TMPDIR:-/tmp}/openstack-state)
#   OPENSTACK_SERVICES  what to run       (keystone neutron glance placement nova cinder)
#                       keystone always runs; nova needs all but cinder
#   OPENSTACK_HOST      address           (127.0.0.1)
#   OPENSTACK_PASSWORD  admin/demo password (secret)
#   NEUTRON_WORKERS     neutron API worker processes, 0 = in the main process (2)
#   KEYSTONE_WORKERS    keystone worker processes, of one thread each (3)
#   KEYSTONE_PORT NEUTRON_PORT GLANCE_PORT PLACEMENT_PORT NOVA_PORT CINDER_PORT
#   GLANCE_WEB_PORT     loopback port from which images may be downloaded (18999)
#   OPENSTACK_DB_CACHE  a .tar file: if it exists, the migrated databases are
#                       unpacked from it instead of running the migrations; if
#                       it does not, it is written (tie it to package versions)
#   OPENSTACK_SEED      1: also create the external network `public`, the
#                       flavors m1.tiny and m1.small, and an image `cirros` (1)
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
S=${OPENSTACK_STATE:-${TMPDIR:-/tmp}/openstack-state}
[[ $S == /* ]] || S=$PWD/$S
SERVICES=${OPENSTACK_SERVICES:-keystone neutron glance placement nova cinder}
HOST=${OPENSTACK_HOST:-127.0.0.1}
PASSWORD=${OPENSTACK_PASSWORD:-secret}
NEUTRON_WORKERS=${NEUTRON_WORKERS:-2}
KEYSTONE_WORKERS=${KEYSTONE_WORKERS:-3}
KEYSTONE_PORT=${KEYSTONE_PORT:-5000}
NEUTRON_PORT=${NEUTRON_PORT:-9696}
GLANCE_PORT=${GLANCE_PORT:-9292}
GLANCE_WEB_PORT=${GLANCE_WEB_PORT:-18999}
PLACEMENT_PORT=${PLACEMENT_PORT:-8778}
NOVA_PORT=${NOVA_PORT:-8774}
CINDER_PORT=${CINDER_PORT:-8776}
DB_CACHE=${OPENSTACK_DB_CACHE:-}
SEED=${OPENSTACK_SEED:-1}
REGION=RegionOne
PY=/usr/bin/python3
PATH=$PATH:/usr/sbin:/sbin # mariadbd, for users other than root

say() { echo "openstack.sh: $*" >&2; }
die() { say "$*"; exit 1; }
has() { [[ " $SERVICES " == *" $1 "* ]]; }
has keystone || SERVICES="keystone $SERVICES"
port() { local v=${1^^}_PORT; echo "${!v}"; }

# ---------------------------------------------------------------- install
packages() {
  echo procps python3 mariadb-server-core mariadb-client-core python3-pymysql uwsgi-core uwsgi-plugin-python3
  local s; for s in $SERVICES; do echo "python3-$s"; done
}

cmd_install() {
  local missing=() p
  for p in $(packages); do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) == installed ]] || missing+=("$p")
  done
  if ((${#missing[@]} == 0)); then say "already installed"; return; fi
  ((EUID == 0)) || die "run '$0 install' as root; missing: ${missing[*]}"
  say "installing ${missing[*]}"
  # Libraries only (python3-*): the service packages (keystone, neutron-server,
  # nova-api, ...) ask debconf questions and start daemons; these do neither.
  apt-get update -qq || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold -o Dpkg::Options::=--force-unsafe-io \
    "${missing[@]}"
}

# ---------------------------------------------------------------- processes
# A pid file holds "pid starttime", so that a recycled pid is never killed.
# A zombie has ended: pid 1 of a container does not always reap.
starttime() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" {print $20}'; }
alive() {
  local pid st; [[ -s $S/run/$1.pid ]] || return 1
  read -r pid st <"$S/run/$1.pid"
  [[ -n $st && $(starttime "$pid") == "$st" ]]
}
start() { # name command...
  local name=$1; shift
  alive "$name" && return 0
  setsid env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$S/home" LANG=C.UTF-8 \
    TMPDIR="$S/tmp" PYTHONPATH="$S/lib" PYTHONNOUSERSITE=1 \
    OS_KEYSTONE_CONFIG_FILES="$S/etc/keystone.conf" OS_PLACEMENT_CONFIG_DIR="$S/etc/placement" \
    "$@" >>"$S/log/$name.log" 2>&1 </dev/null &
  local pid=$!
  echo "$pid $(starttime "$pid")" >"$S/run/$name.pid"
}
stop() { # name...
  local n pid st i=0 j
  for n in "$@"; do
    alive "$n" && { read -r pid st <"$S/run/$n.pid"; kill -TERM "$pid" 2>/dev/null || true; }
  done
  for n in "$@"; do
    [[ -e $S/run/$n.pid ]] || continue
    # 10 s for all of them together.
    for (( ; i < 100; i++)); do alive "$n" || break; sleep 0.1; done
    read -r pid st <"$S/run/$n.pid"
    # Each daemon leads its own session: its children share its process group.
    if alive "$n"; then
      say "$n ignores SIGTERM: SIGKILL"
      kill -KILL -- "-$pid" 2>/dev/null || true
      for ((j = 0; j < 100; j++)); do alive "$n" || break; sleep 0.05; done
    fi
    rm -f "$S/run/$n.pid"
  done
}
py() { # one-shot python with the services' environment
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$S/home" LANG=C.UTF-8 TMPDIR="$S/tmp" \
    PYTHONPATH="$S/lib" PYTHONNOUSERSITE=1 "$PY" "$@"
}
manage() { # module args...: the *-manage commands
  local mod=$1; shift
  py -W ignore -c 'import sys,importlib; m=sys.argv.pop(1); sys.argv[0]=m.split(".")[0]+"-manage"; sys.exit(importlib.import_module(m).main())' "$mod" "$@"
}

# ---------------------------------------------------------------- configuration
# shellcheck source=conf.sh
. "$HERE/conf.sh"

write_lib() {
  local L=$S/lib
  cp "$HERE"/lib/*.py "$L"
  printf 'Metadata-Version: 2.1\nName: openstack-loopback\nVersion: 1.0\n' >"$L/openstack_loopback-1.0.dist-info/METADATA"
  printf '[neutron.ml2.mechanism_drivers]\nloopback = openstack_loopback_neutron:LoopbackMechanismDriver\n' \
    >"$L/openstack_loopback-1.0.dist-info/entry_points.txt"
  # Large heaps of long-lived objects: the default thresholds cost a lot of CPU.
  echo 'import gc; gc.set_threshold(20000, 20, 50)' >"$L/sitecustomize.py"
}

bootstrap() {
  env STATE="$S" HOST="$HOST" PASSWORD="$PASSWORD" REGION="$REGION" SERVICES="$SERVICES" \
    KEYSTONE_PORT="$KEYSTONE_PORT" NEUTRON_PORT="$NEUTRON_PORT" GLANCE_PORT="$GLANCE_PORT" \
    PLACEMENT_PORT="$PLACEMENT_PORT" NOVA_PORT="$NOVA_PORT" CINDER_PORT="$CINDER_PORT" \
    "$PY" "$S/lib/bootstrap.py" "$@"
}

# ---------------------------------------------------------------- database
sql() { mariadb --no-defaults -uroot --socket="$S/mysql.sock" -N "$@"; }

start_db() {
  if alive mariadb; then return; fi
  if [[ ! -d $S/mysql/mysql ]]; then
    rm -rf "$S/mysql"
    if [[ -n $DB_CACHE && -s $DB_CACHE ]]; then
      say "unpacking the databases from $DB_CACHE"
      mkdir -p "$S/mysql"; tar -C "$S" -xf "$DB_CACHE"
    else
      mkdir -p "$S/mysql"
      mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$S/mysql" \
        --auth-root-authentication-method=normal --skip-test-db --skip-name-resolve >"$S/log/mariadb-install.log" 2>&1 ||
        { tail -5 "$S/log/mariadb-install.log" >&2; die "mariadb-install-db failed"; }
    fi
  fi
  # On a socket in a directory of mode 700, without passwords, without
  # durability: it is a test database.
  start mariadb mariadbd --no-defaults --user="$(id -un)" --datadir="$S/mysql" --socket="$S/mysql.sock" \
    --pid-file="$S/run/mariadbd.pid" --skip-networking --skip-grant-tables --skip-name-resolve \
    --character-set-server=utf8mb3 --max-connections=1000 --innodb-flush-log-at-trx-commit=0 \
    --innodb-doublewrite=0 --innodb-buffer-pool-size=256M --innodb-log-file-size=64M --innodb-file-per-table=1 \
    --innodb-flush-method=nosync --performance-schema=0 --skip-log-bin --table-open-cache=2000
  local i
  for ((i = 0; i < 300; i++)); do
    sql -e 'select 1' >/dev/null 2>&1 && return
    alive mariadb || break
    sleep 0.1
  done
  tail -20 "$S/log/mariadb.log" >&2; die "mariadb did not start"
}

sync_keystone() {
  manage keystone.cmd.manage --config-file "$S/etc/keystone.conf" db_sync
}
sync_neutron() { manage neutron.db.migration.cli --config-file "$S/etc/neutron.conf" upgrade heads; }
sync_glance() { manage glance.cmd.manage --config-file "$S/etc/glance-api.conf" db_sync; }
sync_placement() { py -W ignore -c 'import sys; from placement.cmd.manage import main; sys.exit(main())' --config-file "$S/etc/placement/placement.conf" db sync; }
sync_nova() {
  local m="manage nova.cmd.manage --config-file $S/etc/nova.conf"
  $m api_db sync
  # Templates, filled in from nova.conf: the state directory may change (DB_CACHE).
  $m cell_v2 map_cell0 --database_connection '{scheme}://{username}@{hostname}/nova_cell0?{query}'
  $m cell_v2 create_cell --name cell1 --transport-url fake:// --database_connection '{scheme}://{username}@{hostname}/nova?{query}'
  $m db sync
}
sync_cinder() { manage cinder.cmd.manage --config-file "$S/etc/cinder.conf" db sync; }

setup_keystone_keys() {
  [[ -e $S/keystone/fernet/0 ]] && return
  local u; u=$(id -un)
  manage keystone.cmd.manage --config-file "$S/etc/keystone.conf" fernet_setup --keystone-user "$u" --keystone-group "$(id -gn)"
  manage keystone.cmd.manage --config-file "$S/etc/keystone.conf" credential_setup --keystone-user "$u" --keystone-group "$(id -gn)"
}
bootstrap_keystone() {
  local u=http://$HOST:$KEYSTONE_PORT/v3
  manage keystone.cmd.manage --config-file "$S/etc/keystone.conf" bootstrap --bootstrap-password "$PASSWORD" \
    --bootstrap-public-url "$u" --bootstrap-internal-url "$u" --bootstrap-admin-url "$u" --bootstrap-region-id "$REGION"
}

sync_dbs() {
  local s d jobs=() names=() i rc=0
  for s in $SERVICES; do
    [[ -e $S/run/synced-$s ]] && continue
    case $s in nova) d="nova_api nova nova_cell0" ;; *) d=$s ;; esac
    # A migration that was interrupted is started over.
    for i in $d; do sql -e "DROP DATABASE IF EXISTS $i; CREATE DATABASE $i CHARACTER SET utf8mb3"; done
    (set -e; "sync_$s" >"$S/log/sync-$s.log" 2>&1; touch "$S/run/synced-$s") & jobs+=($!); names+=("$s")
  done
  for i in "${!jobs[@]}"; do
    wait "${jobs[$i]}" || { rc=1; say "the database migration of ${names[$i]} failed:"; tail -5 "$S/log/sync-${names[$i]}.log" >&2; }
  done
  ((rc == 0)) || die "see $S/log"
}

# ---------------------------------------------------------------- up, down
wsgi() { # name port script processes threads
  start "$1" uwsgi --plugin python3 --http-socket "$HOST:$2" --wsgi-file "$3" --master --lazy-apps --need-app \
    --processes "$4" --threads "$5" --enable-threads --thunder-lock --die-on-term --buffer-size 65535 \
    --listen 100 --add-header 'Connection: close' --disable-logging --no-orphans --procname-prefix "openstack-$1 "
}

cmd_up() {
  local t0=$SECONDS s
  for s in "$PY" mariadbd mariadb uwsgi ps; do command -v "$s" >/dev/null || die "$s is missing: run '$0 install' first"; done
  ((${#S} < 90)) || die "the path of the state directory is too long for a socket: $S"
  for s in $SERVICES; do
    # Otherwise the first calls could go to somebody else's cloud.
    if ! alive "$s" && [[ $(answer "$(port "$s")") != none ]]; then die "port $(port "$s") ($s) is in use"; fi
  done
  write_conf
  if [[ -n $DB_CACHE && -s $DB_CACHE && ! -d $S/mysql/mysql ]]; then local cached=1; fi
  start_db
  if [[ ${cached:-} ]]; then for s in $SERVICES; do
    [[ $(sql -e "show databases like '${s/nova/nova_api}'") ]] && touch "$S/run/synced-$s"; done; fi
  setup_keystone_keys >"$S/log/keystone-keys.log" 2>&1 & local keys=$!
  sync_dbs
  wait "$keys" || die "keystone keys: see $S/log/keystone-keys.log"
  say "databases ready after $((SECONDS - t0)) s"
  if [[ -n $DB_CACHE && ! -s $DB_CACHE ]]; then
    stop mariadb; mkdir -p "$(dirname "$DB_CACHE")"; tar -C "$S" -cf "$DB_CACHE.tmp" mysql; mv "$DB_CACHE.tmp" "$DB_CACHE"; start_db
  fi
  [[ -e $S/run/bootstrapped ]] || { bootstrap_keystone >"$S/log/keystone-bootstrap.log" 2>&1 || die "see $S/log/keystone-bootstrap.log"; touch "$S/run/bootstrapped"; }
  # One thread in each process of Keystone: the threads of a process share the field `token` of Keystone's
  # AuthContextMiddleware, so that with two threads a request can be judged by the roles of another request's token.
  wsgi keystone "$KEYSTONE_PORT" /usr/bin/keystone-wsgi-public "$KEYSTONE_WORKERS" 1
  if has placement; then wsgi placement "$PLACEMENT_PORT" /usr/bin/placement-api 1 4; fi
  if has neutron; then start neutron "$PY" -W ignore "$S/lib/run_neutron.py" --config-file "$S/etc/neutron.conf"; fi
  if has glance; then start glance "$PY" -W ignore -m glance.cmd.api --config-file "$S/etc/glance-api.conf"; fi
  bootstrap identity
  # nova looks its peers up in the catalog when it starts.
  if has cinder; then start cinder "$PY" -W ignore "$S/lib/run_cinder.py" --config-file "$S/etc/cinder.conf"; fi
  if has nova; then start nova "$PY" -W ignore "$S/lib/run_nova.py" --config-file "$S/etc/nova.conf"; fi
  bootstrap ready
  if [[ $SEED == 1 ]]; then bootstrap seed; fi
  cmd_env >"$S/clouds.yaml"
  say "up after $((SECONDS - t0)) s; clouds.yaml: $S/clouds.yaml"
}

cmd_down() { stop nova cinder glance neutron placement keystone; stop mariadb; }

cmd_purge() {
  cmd_down
  [[ -d $S/etc && -d $S/run ]] && rm -rf -- "$S"
  return 0
}

# The HTTP status of GET /, or why there is none.
answer() { # port
  ( exec 3<>"/dev/tcp/$HOST/$1" || { echo none; exit; }
    printf 'GET / HTTP/1.0\r\n\r\n' >&3
    read -r -t 10 _ code _ <&3 && echo "$code" || echo silent ) 2>/dev/null || true
}
cmd_status() {
  local n pid st total=0 rss pss rc=0 p api
  for n in mariadb $SERVICES; do
    if ! alive "$n"; then printf '%-10s stopped\n' "$n"; rc=1; continue; fi
    read -r pid st <"$S/run/$n.pid"
    rss=0; pss=0
    for p in $(ps -o pid= -s "$pid"); do
      rss=$((rss + $(awk '/^VmRSS/{print $2}' "/proc/$p/status" 2>/dev/null || echo 0)))
      pss=$((pss + $(awk '/^Pss:/{print $2}' "/proc/$p/smaps_rollup" 2>/dev/null || echo 0)))
    done
    total=$((total + pss))
    api=; if [[ $n != mariadb ]]; then api="  http $(answer "$(port "$n")")"; [[ $api == *[0-9] ]] || rc=1; fi
    printf '%-10s pid %-7s rss %5d MiB  pss %5d MiB%s\n' "$n" "$pid" $((rss / 1024)) $((pss / 1024)) "$api"
  done
  echo "total      pss $((total / 1024)) MiB"
  return $rc
}

cloud() { # name user project
  cat <<EOF
  $1:
    region_name: $REGION
    identity_api_version: 3
    auth_type: password
    auth:
      auth_url: http://$HOST:$KEYSTONE_PORT/v3
      username: $2
      password: $PASSWORD
      project_name: $3
      user_domain_name: Default
      project_domain_name: Default
EOF
}
cmd_env() {
  echo "clouds:"
  cloud openstack demo demo; cloud openstack-admin admin admin; cloud openstack-alt alt_demo alt_demo
}

case ${1:-} in
install | up | down | purge | status | env) "cmd_$1" ;;
*) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
