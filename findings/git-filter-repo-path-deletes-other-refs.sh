#!/usr/bin/env bash
# git-filter-repo 2.47.0: `--path src/` deletes every ref whose history has no file below src/, also outside refs/heads.
#
# It filters all refs except refs/notes/, and a ref that keeps no commit is deleted, with its objects, also one in which
# another tool keeps its data. To filter only a branch, name it with `--refs`.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
python3 -m pip install --quiet --disable-pip-version-check --target packages git-filter-repo==2.47.0
export HOME=$folder GIT_CONFIG_NOSYSTEM=1; git config --global user.name t; git config --global user.email t@example.org
git config --global init.defaultBranch main; git init -q work; cd work
mkdir src; echo x >src/a; git add src; git commit -q -m source; git notes add -m 'reviewed by Bo'
tree=$(echo data | git hash-object -w --stdin | sed 's/^/100644 blob /; s/$/\tdata/' | git mktree); data=$(git commit-tree -m data "$tree"); git update-ref refs/tool/data "$data"
run() { PYTHONPATH=../packages python3 ../packages/git_filter_repo.py --force --path src/ "$@" >../output 2>&1; }
cp -a . ../named; run; (cd ../named && run --refs main)
show() { git -C "$1" for-each-ref --format='%(refname)' | xargs; git -C "$1" cat-file -e "$data" 2>/dev/null && echo kept || echo gone; }
echo "git $(git --version), git-filter-repo 2.47.0"
echo "expected: refs/tool/data stays, like refs/notes/commits, since it is no branch of the source"
echo "seen: $(show . | xargs); with --refs main: $(show ../named | xargs)"
[ "$(show . | xargs)" = "refs/heads/main refs/notes/commits gone" ] && [ "$(show ../named | xargs)" = "refs/heads/main refs/notes/commits refs/tool/data kept" ]
