#!/usr/bin/env bash
# pre-commit runs an earlier post-rewrite hook with empty standard input; prek, its replacement, passes it on.
#
# git writes a line `<old> <new>` for each rewritten commit to the standard input of post-rewrite (githooks(5)). "Migration
# mode" is documented as running the earlier hook as before. It does for pre-push. For post-rewrite, pre-commit 4.7.0 gives
# the earlier hook nothing (pre_commit/commands/hook_impl.py, _run_legacy), and the exit status is 0 all the same.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
python3 -m venv env && env/bin/pip -q install pre-commit==4.7.0 prek==0.5.11
echo "$(git --version), $(env/bin/pre-commit --version), $(env/bin/prek --version)"
echo "expected: the earlier hook gets the line that git writes, 1 line with both tools"
for tool in pre-commit prek; do
  git init -q -b main "$folder/$tool"; cd "$folder/$tool"
  printf 'repos: []\n' >.pre-commit-config.yaml; git add -A; git commit -qm work
  printf '#!/bin/sh\ncat >lines\n' >.git/hooks/post-rewrite; chmod +x .git/hooks/post-rewrite
  "$folder/env/bin/$tool" install -t post-rewrite >/dev/null
  git commit -q --amend --allow-empty -m "work, done" >/dev/null 2>&1
  echo "seen with $tool: $(wc -l <lines) line(s)"
done
[ "$(wc -l <"$folder/pre-commit/lines")" = 0 ] && [ "$(wc -l <"$folder/prek/lines")" = 1 ]
