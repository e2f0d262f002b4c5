#!/usr/bin/env bash
# husky runs no hook in a new linked work tree: a failing pre-commit hook of the project does not stop a commit there.
#
# husky sets the relative `core.hooksPath` `.husky/_`, a folder that it creates with a .gitignore of `*`. A linked work tree
# has the same configuration and the project's `.husky/pre-commit`, but not that folder, and git is silent about a hooks
# folder that does not exist. `npm install` in the new work tree (the `prepare` script) repairs it.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main main; cd main; echo '{"name": "x", "private": true}' >package.json
npm install --silent --no-fund --no-audit --save-dev husky@9.1.7 >/dev/null 2>&1; npx --no-install husky
printf 'echo "refused by the project" >&2; exit 1\n' >.husky/pre-commit; echo node_modules >.gitignore
git add -A; git commit -q --no-verify -m x; git worktree add -q ../linked
echo "$(git --version), husky $(sed -n 's/.*"version": "\(.*\)".*/\1/p' node_modules/husky/package.json), core.hooksPath=$(git config core.hooksPath)"
main=0; git commit -q --allow-empty -m y >/dev/null 2>&1 || main=$?
cd ../linked; linked=0; git commit -q --allow-empty -m y || linked=$?
echo "expected: .husky/pre-commit, which is in both work trees, refuses both commits"
echo "seen: exit status of git commit in the main work tree $main, in the linked one $linked"
[ $main != 0 ] && [ $linked = 0 ]
