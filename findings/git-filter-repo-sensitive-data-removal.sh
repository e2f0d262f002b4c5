#!/usr/bin/env bash
# git-filter-repo 2.47.0: `--sensitive-data-removal` first makes all refs equal to those of origin, and deletes the others.
#
# It fetches `+refs/*:refs/*` with `--prune`, so a new branch that was not pushed is gone, and so are refs of other tools
# that origin does not have, with their objects. It asks only about branches that differ from their remote-tracking refs;
# about those without one it does not ask.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
python3 -m pip install --quiet --disable-pip-version-check --target packages git-filter-repo==2.47.0
export HOME=$folder GIT_CONFIG_NOSYSTEM=1; git config --global user.name t; git config --global user.email t@example.org
git config --global init.defaultBranch main; git init -q --bare origin.git; git init -q work; cd work; git remote add origin ../origin.git
echo 'code 4471' >door; git add door; git commit -q -m first; git push -q origin main
git checkout -q -b topic; git commit -q --allow-empty -m 'not pushed'; git checkout -q main; git update-ref refs/tool/state topic; echo '4471==>REMOVED' >../rules
run() { PYTHONPATH=../packages python3 ../packages/git_filter_repo.py --force "$@" --replace-text ../rules >../output 2>&1 </dev/null; }
cp -a . ../plain; (cd ../plain && run); run --sensitive-data-removal
show() { git -C "$1" log --all --format=%s | grep -c 'not pushed' || true; git -C "$1" for-each-ref --format='%(refname)' | grep -c 'topic\|refs/tool/state' || true; }
echo "git $(git --version), git-filter-repo 2.47.0"
echo "expected: the option changes neither which commits nor which refs are left"
echo "seen (commits that were not pushed, refs that origin lacks): without $(show ../plain | xargs), with the option $(show . | xargs)"
[ "$(show ../plain | xargs)" = "1 2" ] && [ "$(show . | xargs)" = "0 0" ]
