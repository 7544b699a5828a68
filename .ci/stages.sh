# Stages with a budget of time each. Sourced by run and nightly, which list the stages.
#
# Budgets are minutes on two cores. A stage may use what earlier stages left of theirs: the times of
# machines differ more by stage than in sum. A stage that fails, or that ends more than a quarter later than
# the budgets up to it allow, fails the run: one machine took 1.35 times the time of another. LIMIT ends a
# run that hangs. With an empty Go cache, stages may take COLD minutes more: build, lint and race then compile
# Kubernetes.
# shellcheck shell=bash
export NO_COLOR=1 TERM=dumb

# The lines of slog and klog, which the operator under test writes: a failed stage shows the
# tests' own lines.
readonly OPERATOR_LOG='^ *(time=[^ ]+ level=|[IWEF][0-9]{4} )'

# is_cold reports whether the Go cache has hardly any compiled package.
is_cold() { (($(find "$(go env GOCACHE)" -name '*-d' 2>/dev/null | head -n 1000 | wc -l) < 1000)); }

logs=$(mktemp -d)
# Everything that the stages leave in the folder for temporary files is seen at the end.
mkdir "$logs/tmp"
export TMPDIR=$logs/tmp
only=" $* "
table=
budget=0
((${COLD:-0})) && is_cold && budget=$COLD
child=
openstack=
cgroup=
skipped=

# is_wanted NAME: whether the command line asks for a stage. Without names, for all.
is_wanted() { [[ $only == "  " || $only == *" $1 "* ]]; }

# stage NAME MINUTES COMMAND... runs a command with its output in a log. budget is the sum of the
# budgets so far, and SECONDS the time since the run began.
stage() {
	local name=$1 minutes=$2 start=$SECONDS status=0 note=ok took line
	shift 2
	is_wanted "$name" || return 0
	budget=$((budget + minutes))
	echo "== $name"
	timeout --kill-after=30 "$((LIMIT * 60 - SECONDS))" "$@" >"$logs/$name.log" 2>&1 &
	child=$!
	wait "$child" || status=$?
	child=
	took=$((SECONDS - start))
	if ((status == 124 || status == 137)); then
		note="ended at the limit of $LIMIT min"
	elif ((status != 0)); then
		note="FAILED ($status)"
	elif ((SECONDS * 4 > budget * 60 * 5)); then
		note="FAILED: over budget" status=1
	fi
	printf -v line '%-10s %3d:%02d of %2d:00  %s' "$name" $((took / 60)) $((took % 60)) "$minutes" "$note"
	echo "$line"
	table+=$line$'\n'
	if ((status != 0)); then
		failed_tests "$logs/$name.log"
		echo "-- the last lines of $logs/$name.log"
		grep -vE "$OPERATOR_LOG" "$logs/$name.log" | tail -n 100 || true
		exit 1
	fi
}

# failed_tests LOG names the tests that failed, so that a test that fails now and then is known.
failed_tests() {
	grep -hoE '^ *--- FAIL: [^ ]+' "$1" | sed 's/^ *--- FAIL: /failed: /' | sort -u || true
}

# prepare_openstack installs real OpenStack services and starts them, beside the stages that
# compile. Where that can't be done, test_openstack says so and leaves the tests out.
prepare_openstack() {
	is_wanted openstack || return 0
	export OPENSTACK_STATE=$logs/openstack
	(timeout --kill-after=30 $((15 * 60)) hack/openstack/openstack.sh install &&
		timeout --kill-after=30 300 hack/openstack/openstack.sh up) >"$logs/openstack-up.log" 2>&1 &
	openstack=$!
}

# test_openstack MINUTES COMMAND... is the stage openstack, once the services run. Services that
# can't be had are reported and pass: that is the machine's fault. A test that fails, fails.
test_openstack() {
	local minutes=$1
	shift
	[[ -n $openstack ]] || return 0
	if ! wait "$openstack"; then
		echo "OpenStack can't be run here: the end of $logs/openstack-up.log"
		tail -n 20 "$logs/openstack-up.log"
		skipped+="openstack is not tested: its services could not be installed or started"$'\n'
		return
	fi
	stage openstack "$minutes" "$@"
}

# with_history NAME MINUTES COMMAND... is a stage that needs the commit of hack/previous.sh. A clone
# without the commit is reported and passes: that is the machine's fault.
with_history() {
	is_wanted "$1" || return 0
	if ! hack/previous.sh --commit >/dev/null; then
		skipped+="$1 is not tested: this clone lacks the commit of hack/previous.sh"$'\n'
		return
	fi
	stage "$@"
}

# with_vulndb NAME MINUTES COMMAND... is a stage that needs the database of hack/vulndb.sh. A machine that
# can't get the database is reported and passes.
with_vulndb() {
	is_wanted "$1" || return 0
	if ! VULNDB=$(hack/vulndb.sh); then
		skipped+="$1 is not run: the database of vulnerabilities can't be downloaded, see hack/vulndb.sh"$'\n'
		return
	fi
	export VULNDB
	stage "$@"
}

# with_cgroup NAME MINUTES COMMAND... is a stage whose command gets as its last argument the folder of a cgroup with
# the memory of the chart's Pod. A machine that makes no cgroup runs the stage without a limit, and is reported loudly.
with_cgroup() {
	is_wanted "$1" || return 0
	if ! cgroup=$(hack/cgroup.sh make 512); then
		cgroup=
		echo "!! WITHOUT A LIMIT OF MEMORY: $1 runs in no cgroup, because hack/cgroup.sh can't make one here"
		skipped+="$1 RAN WITHOUT A LIMIT OF MEMORY: hack/cgroup.sh can't make a cgroup here"$'\n'
	fi
	stage "$@" "$cgroup"
}

# note_data reports data of the cloud that tests leave out, see internal/shareddata.
note_data() {
	[[ -d ${KINSHIP_DATA:-../shared/data} ]] ||
		skipped+="all of ARM is not proved: KINSHIP_DATA is no directory, and tests of internal/shareddata are left out"$'\n'
}

# show_tests prints what go test said of each package, and of the tests that failed. The lines of
# a failed test, and the names of tests that ran into a timeout, are indented; the report of a data
# race has lines at the margin.
show_tests() {
	local log
	for log in "$logs"/{race,tables}.log; do
		[[ -f $log ]] || continue
		echo "== go test: $(basename "$log" .log)"
		grep -vE "$OPERATOR_LOG" "$log" |
			awk '/^ *(--- FAIL|panic:)/ { shown = 60; race = 0 } /^WARNING: DATA RACE/ { shown = 60; race = 1 }
				/^==================/ { race = 0 } /^[^ \t]/ && !race && !/^(---|panic:)/ { shown = 0 }
				shown-- > 0 || /^(ok|FAIL)/' || true
	done
}

# show_scale prints the figures of the load generators.
show_scale() {
	[[ -f $logs/scale.log ]] || return 0
	echo "== scale"
	grep -E '^(onboarding|idle|release-plain) .*[0-9]  |Deployment|IotConnector' "$logs/scale.log" || true
}

# show_rotation prints how many deletions a second were answered while certificates were replaced.
show_rotation() {
	[[ -f $logs/rotate.log ]] || return 0
	echo "== rotate"
	grep -hoE 'deletions were answered: .*' "$logs/rotate.log" || true
}

# left_behind names the files and the processes that the stages have left. What git ignores, such as bin, is no file left.
left_behind() {
	find "$TMPDIR" -mindepth 1 -maxdepth 1 -not -name 'go-build*' -not -name 'golangci-lint*' || true
	pgrep -af "^$PWD/bin/" || true
}

# finish prints the times and what go test said, whatever happened before.
finish() {
	local status=$?
	if [[ -n $child ]]; then
		kill "$child" 2>/dev/null || true # timeout passes it on to what it runs
		wait "$child" 2>/dev/null || true
	fi
	if [[ -n $openstack ]]; then
		if jobs -pr | grep -qx "$openstack"; then
			kill -- "-$openstack" 2>/dev/null || true # an install that nobody waits for any more
		fi
		hack/openstack/openstack.sh purge >/dev/null 2>&1 || true
	fi
	[[ -z $cgroup ]] || hack/cgroup.sh remove "$cgroup" || true
	show_tests
	show_scale
	show_rotation
	echo "== times"
	printf '%s%-10s %3d:%02d of %2d:00\n' "$table" total $((SECONDS / 60)) $((SECONDS % 60)) "$budget"
	if [[ -n $skipped ]]; then
		printf '%s' "$skipped"
	fi
	local left
	left=$(left_behind)
	if ((status == 0)) && [[ -n $left ]]; then
		echo "== left behind"
		echo "$left"
		status=1
	fi
	if ((status == 0)); then
		rm -rf "$logs"
		echo "passed"
	else
		echo "FAILED, logs are in $logs"
	fi
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# In a process group of its own a stage keeps its signal handlers, and none of its children
# outlives it.
set -m
