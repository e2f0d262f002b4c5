"""Print a field of the JSON on standard input, like `jq .FIELD`, because jq may not be installed."""

from __future__ import annotations

import json
import sys

if __name__ == "__main__":
    print(json.dumps(json.load(sys.stdin)[sys.argv[1].removeprefix(".")]))
