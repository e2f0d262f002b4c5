#!/usr/bin/env bash
# A `.claude/CLAUDE.md` with anything in it makes Claude Code leave the project's AGENTS.md unread, without a message.
#
# Claude Code reads AGENTS.md of a project that has no CLAUDE.md. `.claude/CLAUDE.md` counts as one, also if it only holds the
# settings of another tool. An import in that file (`@../AGENTS.md`) brings the text back. The request to the model is
# recorded by a server on loopback that answers with an error; nothing leaves the machine.
set -euo pipefail
folder=$(mktemp -d); trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT; cd "$folder"
npm install --silent --no-fund --no-audit --prefix cli @anthropic-ai/claude-code@2.1.329 >/dev/null 2>&1
cat >server.py <<'P'
import http.server, sys
class Recorder(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if "/messages" in self.path: open("requests", "ab").write(body)
        self.send_response(400); self.end_headers(); self.wfile.write(b'{"type":"error","error":{"type":"invalid_request_error","message":"recorded"}}')
    do_GET = do_HEAD = do_POST
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder); open("port", "w").write(str(server.server_port)); server.serve_forever()
P
python3 server.py & server=$!; until [ -s port ]; do sleep 0.1; done
export HOME=$folder/home ANTHROPIC_BASE_URL=http://127.0.0.1:$(cat port) ANTHROPIC_API_KEY=sk-ant-not-a-key CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
mkdir home; git init -q project; echo 'Always answer with the word QUINCE.' >project/AGENTS.md
read_it() { : >requests; (cd project && timeout 60 "$folder/cli/node_modules/.bin/claude" -p 'Hello?' </dev/null >/dev/null 2>&1) || true; [ -s requests ] || { echo "no request was recorded"; exit 1; }; grep -c QUINCE requests | sed 's/^[1-9].*/yes/; s/^0/no/' || true; }
alone=$(read_it); mkdir project/.claude; printf 'paif_config:\n  agent_id: zero\n' >project/.claude/CLAUDE.md; beside=$(read_it)
printf '\n@../AGENTS.md\n' >>project/.claude/CLAUDE.md; imported=$(read_it)
echo "claude $("$folder/cli/node_modules/.bin/claude" --version)"
echo "expected: AGENTS.md reaches the model in each case"
echo "seen: alone $alone, beside .claude/CLAUDE.md $beside, imported by it $imported"
[ "$alone $beside $imported" = "yes no yes" ]
