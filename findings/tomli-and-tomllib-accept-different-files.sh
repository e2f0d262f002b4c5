#!/usr/bin/env bash
# tomli reads TOML 1.1 since 2.4.0, tomllib of Python 3.11 to 3.14 only TOML 1.0. Code with the usual fallback from tomllib
# to tomli therefore accepts more files on the older Python than on the newer one.
#
# The four files are valid in TOML 1.1: an inline table over two lines, two new escapes, and a time without seconds.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; cd "$folder"
python3 -m venv env; env/bin/pip install --quiet tomli==2.4.0
cat >compare.py <<'P'
import sys, tomli, tomllib
from importlib.metadata import version
FILES = ["a = {b = 1,\n  c = 2}\n", 'a = "\\e"\n', 'a = "\\x41"\n', "a = 12:30\n"]
def reads(parser, text):
    try: parser.loads(text)
    except parser.TOMLDecodeError: return "refused"
    return "read"
seen = [(reads(tomllib, text), reads(tomli, text)) for text in FILES]
print(f"Python {sys.version.split()[0]}, tomli {version('tomli')}")
print("expected: the package that tomllib was made from accepts the same files")
print("seen, tomllib and tomli:", *(f"{left}/{right}" for left, right in seen))
sys.exit(seen != [("refused", "read")] * 4)
P
env/bin/python compare.py
