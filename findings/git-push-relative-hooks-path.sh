#!/usr/bin/env bash
# A push into a repository with a work tree looks for a relative core.hooksPath inside .git, a commit in the work tree.
#
# git-config(1) on core.hooksPath: a relative path is "taken as relative to the directory where the hooks are run", and
# githooks(5): hooks of a push run in $GIT_DIR. Put together: with `core.hooksPath=.githooks`, a pre-receive hook in the
# project's folder .githooks never runs, and git says nothing, although `git rev-parse --git-path hooks` names that folder.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main served; cd served; git config core.hooksPath .githooks; mkdir .githooks
for hook in pre-receive post-commit; do printf '#!/bin/sh\ntouch "%s/%s-ran"\n' "$folder" $hook >.githooks/$hook; chmod +x .githooks/$hook; done
git commit -q --allow-empty -m x; git clone -q . ../clone 2>/dev/null; git -C ../clone push -q origin HEAD:refs/heads/other
ran() { [ -e "$folder/$1-ran" ] && echo yes || echo no; }
inside=no; mkdir .git/.githooks; printf '#!/bin/sh\ntouch "%s/inside-ran"\n' "$folder" >.git/.githooks/pre-receive; chmod +x .git/.githooks/pre-receive
git -C ../clone push -q origin HEAD:refs/heads/third; inside=$(ran inside)
echo "$(git --version); git rev-parse --git-path hooks: $(git rev-parse --git-path hooks)"
echo "expected: both hooks in .githooks run"
echo "seen: post-commit in .githooks ran: $(ran post-commit); pre-receive in .githooks ran: $(ran pre-receive); pre-receive in .git/.githooks ran: $inside"
[ "$(ran post-commit) $(ran pre-receive) $inside" = "yes no yes" ]
