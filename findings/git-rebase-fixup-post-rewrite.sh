#!/usr/bin/env bash
# One `git rebase --autosquash` runs post-rewrite twice if it has a fixup: first with `amend`, for a commit of its own.
#
# githooks(5): post-rewrite is invoked by commands that rewrite commits, with the command as its argument. The fixup step
# amends the commit that the rebase has just picked, so the hook first gets `amend` and a pair whose old id was never on a
# branch, while the rebase is still running and HEAD is at an intermediate commit. The final call has `rebase`, and two lines
# with the same new id. A hook that acts on `amend` at once acts in the middle of a rebase.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q -b main .; commit() { echo "$1" >>"$2"; git add -A; git commit -q -m "$1"; }
commit base f; git checkout -q -b topic; commit A a; commit "fixup! A" a; git checkout -q main; commit up u; git checkout -q topic
before=$(git rev-list main..topic)
printf '#!/bin/sh\nwhile read -r old new; do echo "$1 $old $new"; done >>.git/calls\n' >.git/hooks/post-rewrite; chmod +x .git/hooks/post-rewrite
GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash main
echo "$(git --version)"
echo "expected: one call with rebase and a line for each of the 2 commits"
unknown=0; while read -r command old new; do
  case $before in *"$old"*) known="a commit of the branch" ;; *) known="a commit that was on no branch"; unknown=$((unknown + 1)) ;; esac
  echo "seen: $command, $known was replaced by ${new:0:7}"
done <.git/calls
[ "$(cut -d' ' -f1 .git/calls | tr '\n' ' ')" = "amend rebase rebase " ] && [ $unknown = 1 ] && [ "$(cut -d' ' -f3 .git/calls | sort -u | wc -l)" = 1 ]
