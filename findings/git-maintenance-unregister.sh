#!/usr/bin/env bash
# After `git maintenance unregister`, git never maintains the repository again: maintenance.auto stays false.
#
# `git maintenance register` adds the repository to the list of the scheduler, and sets maintenance.auto=false in it.
# `unregister` removes it from the list, and keeps that setting (git-maintenance(1) has a sentence about it). So the
# repository then has neither the scheduled maintenance nor the one that git starts after a commit or a fetch elsewhere.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
for kind in untouched unregistered; do
  git init -q -b main "$folder/$kind"; cd "$folder/$kind"
  [ $kind = untouched ] || { git maintenance register; git maintenance unregister; }
  declare "$kind=$(GIT_TRACE=1 git commit -q --allow-empty -m x 2>&1 | grep -c 'run_command: git maintenance run --auto' || true)"
done
echo "$(git --version)"
echo "expected: the same as before it was registered: a commit starts git maintenance run --auto"
echo "seen: started in an untouched repository $untouched times, in an unregistered one $unregistered times; maintenance.auto=$(git config maintenance.auto), registered: '$(git config --global --get-all maintenance.repo || true)'"
[ "$untouched $unregistered" = "1 0" ]
