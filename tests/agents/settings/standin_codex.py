"""A stand-in for `codex app-server`: it gives the same responses about hooks, from the same files."""

import json
import os
import sys
import tomllib
from pathlib import Path

HOME = Path(os.environ["CODEX_HOME"])
CONFIG = HOME / "config.toml"


def states():
    return tomllib.loads(CONFIG.read_text()).get("hooks", {}).get("state", {}) if CONFIG.exists() else {}


def hooks(cwd):
    known = states()
    for folder, source in ((HOME, "user"), (Path(cwd) / ".codex", "project")):
        path = folder / "hooks.json"
        data = json.loads(path.read_text())["hooks"] if path.exists() else {}
        for event, groups in data.items():
            for number, group in enumerate(groups):
                key = f"{path}:{event}:{number}:0"
                digest = f"sha256:{hash(json.dumps(group)) & 0xFFFF}" if "PYTHONHASHSEED" in os.environ else "sha256:x"
                status = "trusted" if known.get(key, {}).get("trusted_hash") == digest else "untrusted"
                yield {"key": key, "trustStatus": status, "currentHash": digest, "sourcePath": str(path),
                       "command": group["hooks"][0]["command"], "enabled": True, "source": source}  # fmt: skip


def write(edits):
    known = states()
    for edit in edits:
        key = json.loads(edit["keyPath"].removeprefix("hooks.state."))
        known = {**known, key: edit["value"]}
    lines = [f'[hooks.state.{json.dumps(k)}]\ntrusted_hash = "{v["trusted_hash"]}"\n' for k, v in known.items() if v]
    CONFIG.write_text("".join(lines))


for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "hooks/list":
        result = {"data": [{"cwd": cwd, "hooks": list(hooks(cwd))} for cwd in request["params"]["cwds"]]}
    else:
        result = {}
    if request["method"] == "config/batchWrite":
        write(request["params"]["edits"])
    if "id" in request:
        print(json.dumps({"method": "news", "params": {}}))
        print(json.dumps({"id": request["id"], "result": result}), flush=True)
