#!/usr/bin/env bash
# isomorphic-git in a linked work tree names the current branch and then finds no branch at all, in part without an error.
#
# It follows the file `.git` of a linked work tree (so `currentBranch` is right), but does not read `commondir`, where git keeps
# the refs and objects that all work trees share (gitrepository-layout(5)). `listBranches` returns [], and `resolveRef` of the
# branch that `currentBranch` has just named fails. With the common directory as `gitdir`, everything is found, but HEAD is
# that of the main work tree.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
npm install --silent --no-fund --no-audit --prefix js isomorphic-git@1.44.19 >/dev/null 2>&1
git init -q -b main main; git -C main commit -q --allow-empty -m x; git -C main worktree add -q ../linked
cat >read.cjs <<'J'
const git = require('./js/node_modules/isomorphic-git'), fs = require('fs');
const say = async (f) => { try { return JSON.stringify(await f()) } catch (e) { return e.code } };
(async () => {
  for (const o of [{ dir: 'main' }, { dir: 'linked' }, { dir: 'linked', gitdir: 'main/.git' }])
    console.log([JSON.stringify(o), await say(() => git.currentBranch({ fs, ...o })), await say(() => git.listBranches({ fs, ...o })),
      (await say(() => git.resolveRef({ fs, ...o, ref: 'refs/heads/linked' }))).replace(/"[0-9a-f]{40}"/, 'found')].join('  '));
})();
J
echo "$(git --version), isomorphic-git $(node -p 'require("./js/node_modules/isomorphic-git/package.json").version')"
echo "expected: the branches main and linked in each, as git prints them: $(git -C linked branch --format='%(refname:short)' | tr '\n' ' ')"
echo "seen (options, currentBranch, listBranches, resolveRef of the branch linked):"; node read.cjs | tee seen
grep -qF '{"dir":"linked"}  "linked"  []  NotFoundError' seen && grep -qF '{"dir":"linked","gitdir":"main/.git"}  "main"  ["linked","main"]  found' seen
