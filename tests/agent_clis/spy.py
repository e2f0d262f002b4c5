"""A hook that records its input and prints a configured reply: `spy.py JOURNAL REPLIES`.

JOURNAL gets a line of JSON for each call. REPLIES is a JSON file: event → the reply; `@MARK@` in it becomes
`MARK-<event>-<source, reason or trigger>-<number of the call>`. The reply to other events is `{}`.
"""

import json
import os
import sys
from pathlib import Path

journal, replies = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
given = json.load(sys.stdin)
event = given["hook_event_name"]
why = given.get("source") or given.get("reason") or given.get("trigger") or "x"
number = journal.read_text().count("\n") if journal.exists() else 0
call = {
    "event": event,
    "why": why,
    "given": given,
    "parent": os.getppid(),
    "variables": dict(os.environ),
}
with journal.open("a") as file:
    file.write(json.dumps(call) + "\n")
print(json.dumps(replies.get(event, {})).replace("@MARK@", f"MARK-{event}-{why}-{number}"))
