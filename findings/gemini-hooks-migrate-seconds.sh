#!/usr/bin/env bash
# `gemini hooks migrate --from-claude` copies timeouts in seconds into a field that Gemini CLI reads as milliseconds.
#
# A hook of Claude Code with `"timeout": 10` (seconds) becomes one that Gemini CLI ends after 10 milliseconds. A matcher of
# SessionStart such as `startup|resume` is a pattern for Claude Code and one exact word for Gemini CLI, and is kept as well.
# The command reports "Hooks successfully migrated".
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
export HOME=$folder GEMINI_CLI_HOME=$folder
npm install --silent --no-fund --no-audit --ignore-scripts --prefix cli @google/gemini-cli@0.61.0 >/dev/null 2>&1
git init -q project; cd project; mkdir .claude
cat >.claude/settings.json <<'J'
{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sleep 1; touch ran", "timeout": 10}]}],
           "SessionStart": [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "date", "timeout": 10}]}]}}
J
"$folder/cli/node_modules/.bin/gemini" hooks migrate --from-claude >out.txt 2>&1 </dev/null
timeout=$(python3 -c 'import json; print(json.load(open(".gemini/settings.json"))["hooks"]["AfterAgent"][0]["hooks"][0]["timeout"])')
matcher=$(python3 -c 'import json; print(json.load(open(".gemini/settings.json"))["hooks"]["SessionStart"][0].get("matcher"))')
documented=$(grep -rhoiE 'timeout`?[^.|]{0,80}milliseconds' "$folder"/cli/node_modules/@google/gemini-cli/bundle/docs/hooks/*.md 2>/dev/null | head -1 || true)
echo "gemini $("$folder/cli/node_modules/.bin/gemini" --version 2>/dev/null)"
echo "its documentation: ${documented:-not in the package}"
echo "expected: a timeout of 10 seconds is 10000 after the migration"
echo "seen: timeout $timeout, matcher of SessionStart $matcher; $(grep -o 'Hooks successfully migrated[^.]*' out.txt | head -1)"
[ "$timeout" = 10 ] && [ "$matcher" = 'startup|resume' ]
