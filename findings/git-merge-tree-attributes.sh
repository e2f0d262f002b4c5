#!/usr/bin/env bash
# git merge-tree takes the merge drivers from the work tree where it is run, not from the commits that it merges.
#
# `git merge-tree --write-tree A B` is documented as a merge that does not touch the index or the work tree, for servers and
# scripts. It still reads .gitattributes in the work tree that happens to be there: the same two commits give a clean merge
# or a conflict, depending on the branch that is checked out; in a bare repository the driver is never used.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git config --global merge.both.driver 'cat %B >>%A'
git init -q -b main r; cd r; echo base >f; git add f; git commit -qm base
for side in left right; do git checkout -q -b $side main; echo 'f merge=both' >.gitattributes; echo $side >f; git add -A; git commit -qm $side; done
git clone -q --bare . ../bare.git
merge() { local status=0; git merge-tree --write-tree left right >/dev/null || status=$?; echo $status; }
git checkout -q left; on_left=$(merge); git checkout -q main; on_main=$(merge); bare=$(cd ../bare.git && merge)
echo "$(git --version)"
echo "expected: the same result for the same two commits, which both have .gitattributes with a merge driver: exit status 0"
echo "seen: with left checked out $on_left, with main checked out $on_main, in a bare repository $bare (1 is a conflict)"
[ "$on_left $on_main $bare" = "0 1 1" ]
