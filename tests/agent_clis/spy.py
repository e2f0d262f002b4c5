"""A hook that records its input and prints a configured reply: `spy.py JOURNAL REPLIES`.

The hook appends a line of JSON to JOURNAL for each call. REPLIES is a JSON file that maps an event to the reply;
`@MARK@` in a reply becomes `MARK-<event>-<source, reason or trigger>-<number of the call>`. Other events get `{}`.
"""

import json
import os
import sys
from pathlib import Path

journal, replies = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
payload = json.load(sys.stdin)
event = payload["hook_event_name"]
why = payload.get("source") or payload.get("reason") or payload.get("trigger") or "x"
number = journal.read_text().count("\n") if journal.exists() else 0
call = {
    "event": event,
    "why": why,
    "payload": payload,
    "parent": os.getppid(),
    "variables": dict(os.environ),
}
with journal.open("a") as file:
    file.write(json.dumps(call) + "\n")
print(json.dumps(replies.get(event, {})).replace("@MARK@", f"MARK-{event}-{why}-{number}"))
