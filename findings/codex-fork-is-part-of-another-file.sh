#!/usr/bin/env bash
# The transcript of a forked or rewound Codex session is not whole: it begins where the other one was left.
#
# Codex 0.171.0 writes each session to a file `rollout-<time>-<id>.jsonl`. One would expect that the file of a fork has
# the conversation so far, as those of earlier releases do, and as Claude Code's files have. But its first record names
# another file (`history_base.thread_id` is the end of that file's name, `end_ordinal_exclusive` the first record that
# does not count), and the earlier prompts stand only there. After a rewind in the terminal the same holds for a second
# file of the same session. Who copies, reads or deletes single files loses the beginning of the conversation.
set -euo pipefail
folder=$(mktemp -d); cd "$folder"
npm install --silent --no-fund --no-audit --prefix cli @openai/codex@0.171.0 >/dev/null 2>&1
cat >model.py <<'P'
"""A model on loopback that answers every request with one sentence."""
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
        events = [{"type": "response.created", "response": {"id": "r"}},
                  {"type": "response.output_item.done", "output_index": 0, "item": text},
                  {"type": "response.completed", "response": {"id": "r", "output": []}}]
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"models": []}')
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
P
python3 model.py >port & model=$!
trap 'kill "$model"; rm -rf "$folder"' EXIT
until [ -s port ]; do sleep 0.1; done
export CODEX_HOME=$folder/home MODEL_KEY=none; mkdir home; git init -q project
cat >home/config.toml <<T
model = "gpt-5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:$(cat port)/v1"
wire_api = "responses"
env_key = "MODEL_KEY"
T
codex() { (cd "$folder/project" && "$folder/cli/node_modules/.bin/codex" exec --json "$@" </dev/null 2>/dev/null); }
first=$(codex "Plant the apple tree" | grep -o '"thread_id":"[^"]*"' | head -1 | cut -d'"' -f4)
fork=$(codex fork "$first" "Water the rose" | grep -o '"thread_id":"[^"]*"' | head -1 | cut -d'"' -f4)
file=$(find home/sessions -name "*$fork.jsonl")
echo "codex $("$folder/cli/node_modules/.bin/codex" --version 2>/dev/null)"
echo "expected: the file of the fork has both prompts"
echo "seen: 'Plant the apple tree' in $(grep -c 'Plant the apple tree' "$file" || true) lines, 'Water the rose' in $(grep -c 'Water the rose' "$file" || true) lines"
echo "      $(head -1 "$file" | grep -o '"history_base":{[^}]*}')"
[ "$first" != "$fork" ]
! grep -q 'Plant the apple tree' "$file"
grep -q 'Water the rose' "$file"
head -1 "$file" | grep -q "\"history_base\":{\"thread_id\":\"$first\""
