#!/usr/bin/env bash
# With any file named pre-push in place, `git lfs track` installs no hook and says nothing; a push succeeds without the files.
#
# `git lfs install` reports an existing hook, but the usual order is `git lfs install` once for the user, then `git lfs track`
# in a repository, which tries to install the hooks and hides the failure (git-lfs 3.3.0, commands/command_track.go). So a
# hook manager, or any tool with a pre-push hook of its own, makes every later push lose data without an error.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
if ! git lfs version 2>/dev/null | grep -q 'git-lfs/3.3.0'; then # Debian 12
  apt-get download -q git-lfs=3.3.0-1+deb12u1 >/dev/null 2>&1 || apt-get download -q git-lfs >/dev/null 2>&1
  dpkg -x git-lfs_*.deb lfs && export PATH=$folder/lfs/usr/bin:$PATH
fi
echo "$(git --version), $(git lfs version | cut -d' ' -f1)"
git lfs install --skip-repo >/dev/null
echo "expected: an error, or 1 object on the remote, in both repositories"
for other in none a-pre-push-hook; do
  git init -q -b main "$folder/$other"; cd "$folder/$other"
  [ $other = none ] || { printf '#!/bin/sh\nexit 0\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push; }
  track=0; git lfs track '*.bin' >track.txt 2>&1 || track=$?
  head -c 9999 /dev/urandom >a.bin; git add -A; git commit -q -m bin
  git init -q --bare "$folder/$other.git"; git remote add origin "$folder/$other.git"; push=0; git push -q origin main >push.txt 2>&1 || push=$?
  declare "objects_$(tr -d - <<<$other)=$(find "$folder/$other.git/lfs" -type f 2>/dev/null | wc -l)"
  echo "seen, other hook: $other; track: exit $track, '$(tr '\n' ' ' <track.txt)'; push: exit $push, objects on the remote: $(find "$folder/$other.git/lfs" -type f 2>/dev/null | wc -l)"
done
[ "$objects_none" = 1 ] && [ "$objects_aprepushhook" = 0 ]
