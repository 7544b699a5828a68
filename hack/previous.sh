#!/usr/bin/env bash
# Builds kinship as it was before: at the newest tag or, as long as there is no tag, at the first commit
# that was on main with all five packs. Prints the path of the program and, on stderr, the commit.
#
#	KINSHIP_PREVIOUS=$(hack/previous.sh) go test ./test/upgrade
#	hack/previous.sh --commit          prints the commit, and builds nothing
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly LANDED=ff1aba9f67d0d546256f318110996c0b718370a8
previous=$(git describe --tags --abbrev=0 2>/dev/null || echo "$LANDED")
git rev-parse --quiet --verify "$previous^{commit}" >/dev/null ||
	{ echo "hack/previous.sh: this clone has no commit $previous: fetch the whole history" >&2; exit 1; }
if [ "${1:-}" = --commit ]; then
	echo "$previous"
	exit
fi
program=$PWD/bin/previous/kinship-$(git rev-parse --short "$previous")
if [ ! -x "$program" ]; then
	tree=$(mktemp -d)
	trap 'git worktree remove --force "$tree"' EXIT
	git worktree add --quiet --detach "$tree" "$previous"
	(cd "$tree" && go build -o "$program" ./cmd/kinship)
fi
echo "previous: $previous, this: $(git rev-parse HEAD)" >&2
echo "$program"
