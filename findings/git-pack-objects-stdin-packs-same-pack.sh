#!/usr/bin/env bash
# `git pack-objects --stdin-packs` merges packs without deltas into one that is many times as large as it need be.
#
# git does not compare two whole objects of the same pack, because the pack's writer is thought to have tried that ("a
# delta that we discarded on an earlier try", builtin/pack-objects.c). A writer without deltas, such as a library or `git
# -c pack.window=0`, never did. `--no-reuse-delta` compares them; the manual says only that it recomputes existing deltas.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git init -q repository; cd repository; git config gc.auto 0; head -c 9000 /dev/urandom | base64 >../text
for part in 1 2; do
  for number in $(seq 60); do
    { echo "$part $number"; cat ../text; } >notes
    git add notes; git commit -q -m "$part $number"
  done
  git -c pack.window=0 repack -d -q   # a pack without deltas
done
packs=$(cd .git/objects/pack; ls *.pack)
merge() { echo "$packs" | git pack-objects -q --stdin-packs "$@" "$folder/merged" >"$folder/name"; stat -c %s "$folder/merged-$(cat "$folder/name").pack"; rm "$folder"/merged-*; }
plain=$(merge); anew=$(merge --no-reuse-delta)
git --version
echo "expected: the merged pack has deltas between the 120 versions of one file"
echo "seen: $plain bytes, and $anew bytes with --no-reuse-delta"
[ "$plain" -gt $((5 * anew)) ]
