#!/usr/bin/env bash
# secretlint's JSON report through a pipe.
#
# Expected: `secretlint --format json … | program` gives the program the whole report, as `> file` does.
# Seen with secretlint 12.0.0 on Node.js 20 (Linux), started as node_modules/.bin/secretlint: a reader that is not faster
# than the report gets its first 64 KiB, and the exit status is that of a normal run. Started by npx, the same program
# gives the whole report. A pipeline thus loses findings without a sign.
# baton runs no scanner; its benchmark of redaction reads the report from a file for this reason.
#
# Needs node and npm. Exits with 1 if the behaviour has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund --loglevel=error \
  secretlint@12.0.0 @secretlint/secretlint-rule-preset-recommend@12.0.0
echo "node $(node --version), secretlint $(npx secretlint --version)"

echo '{"rules": [{"id": "@secretlint/secretlint-rule-preset-recommend"}]}' >.secretlintrc.json
mkdir texts
for number in $(seq 400); do  # a private key of the shape that the rules report; its content is of zeros
  printf -- '-----BEGIN RSA PRIVATE KEY-----\n%064d\n%064d\n-----END RSA PRIVATE KEY-----\n' 0 "$number" >"texts/$number.txt"
done

npx secretlint --format json 'texts/*.txt' >whole.json || true
{ node_modules/.bin/secretlint --format json 'texts/*.txt' || true; } | { sleep 5; cat; } >piped.json

whole=$(wc -c <whole.json) piped=$(wc -c <piped.json)
echo "expected: both reports have the same size"
echo "seen: $whole bytes in a file, $piped bytes through a pipe"
python3 -c 'import json; json.load(open("whole.json"))'
[ "$piped" -lt "$whole" ] || { echo "the behaviour has changed"; exit 1; }
