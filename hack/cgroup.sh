#!/usr/bin/env bash
# A cgroup with a limit of memory, as the kubelet gives a container: version 1 or 2, for root.
#
#	hack/cgroup.sh make MIB        prints the folder of a new cgroup
#	hack/cgroup.sh remove FOLDER   once no process is in the cgroup
set -euo pipefail

make_cgroup() {
	local bytes=$(($1 << 20)) root=/sys/fs/cgroup limit=memory.max folder
	if [[ -f $root/memory/memory.limit_in_bytes ]]; then # Version 1.
		root=$root/memory limit=memory.limit_in_bytes
	fi
	folder=$root/kinship-$$
	mkdir "$folder"
	if ! { echo "$bytes" >"$folder/$limit"; }; then # Version 2 without memory in cgroup.subtree_control.
		rmdir "$folder"
		return 1
	fi
	echo "$folder"
}

case ${1:-} in
make) make_cgroup "$2" ;;
remove) rmdir "$2" ;;
*)
	sed -n '2,5s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
