#!/usr/bin/env bash
# If a hook makes Gemini CLI go on, its session file says that the person sent the same prompt once more.
#
# An AfterAgent hook that returns `"decision": "block"` rejects an answer, and its `reason` is sent to the model as a new
# prompt (documented). In the session file of Gemini CLI 0.61.0, that message is of the type `user`, its `content` is the
# reason, and its `displayContent`, which otherwise has what the person typed, is the person's prompt again. So a reader
# that prefers what was typed, as `displayContent` suggests, counts the prompt twice, and no field says that a hook spoke.
set -euo pipefail
folder=$(mktemp -d); cd "$folder"
npm install --silent --no-fund --no-audit --ignore-scripts --prefix cli @google/gemini-cli@0.61.0 >/dev/null 2>&1
cat >model.py <<'P'
"""A model on loopback that answers every request with one sentence."""
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        part = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}
        is_stream = "stream" in self.path
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json"); self.end_headers()
        self.wfile.write((f"data: {json.dumps(part)}\r\n\r\n" if is_stream else json.dumps(part)).encode())
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
P
python3 model.py >port & model=$!
trap 'kill "$model"; rm -rf "$folder"' EXIT
until [ -s port ]; do sleep 0.1; done
export HOME=$folder GEMINI_CLI_HOME=$folder GEMINI_API_KEY=none GEMINI_CLI_TRUST_WORKSPACE=true
export GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:$(cat port)
cat >hook.py <<'P'
import json, sys
is_second = json.load(sys.stdin)["stop_hook_active"]
print(json.dumps({} if is_second else {"decision": "block", "reason": "Name the tests, too"}))
P
git init -q project; mkdir -p .gemini; cat >.gemini/settings.json <<J
{"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false},
 "hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "python3 $folder/hook.py"}]}]}}
J
(cd project && "$folder/cli/node_modules/.bin/gemini" -p "Plant the apple tree" --model gemini-2.5-pro </dev/null >/dev/null 2>&1)
python3 - <<'P'
import json, pathlib, sys
(file,) = pathlib.Path(".gemini/tmp").glob("*/chats/*.jsonl")
lines = [json.loads(line) for line in file.read_text().splitlines()]
prompts = [line for line in lines if line.get("type") == "user"]
print("gemini 0.61.0")
print("expected: one message of the user that shows 'Plant the apple tree'")
for prompt in prompts:
    print("seen:", {key: value for key, value in prompt.items() if key not in ("id", "timestamp")})
first, second = prompts
shown = "".join(part["text"] for part in second["displayContent"])
sys.exit(not (shown == "Plant the apple tree" and second["content"][0]["text"] == "Name the tests, too"))
P
