#!/usr/bin/env bash
# git 2.x: in a partial clone, `git gc --prune=now` never removes an unreachable object that came from the remote.
#
# Such objects are in packs with a `.promisor` file, which repack keeps as a whole. So after a secret was removed from the
# history and from the remote, a partial clone keeps its bytes; a complete clone with the same commands does not.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_CONFIG_NOSYSTEM=1; git config --global user.name t; git config --global user.email t@example.org
git config --global init.defaultBranch main; git config --global uploadpack.allowFilter true; git init -q work; cd work
git commit -q --allow-empty -m base; base=$(git rev-parse HEAD); git commit -q --allow-empty -m 'the code is 4471'; secret=$(git rev-parse HEAD); cd ..
git clone -q --bare work hub.git
git clone -q "file://$folder/hub.git" complete; git clone -q --filter=blob:none "file://$folder/hub.git" partial
git -C hub.git update-ref refs/heads/main "$base"
for clone in complete partial; do (cd $clone; git fetch -q; git reset -q --hard origin/main; git reflog expire --expire=now --all; git gc -q --prune=now
  GIT_NO_LAZY_FETCH=1 git cat-file -e "$secret" 2>/dev/null && echo "$clone: kept" || echo "$clone: gone"); done >seen
echo "$(git --version)"
echo "expected: complete: gone, partial: gone"
echo "seen: $(xargs <seen)"
[ "$(xargs <seen)" = "complete: gone partial: kept" ]
