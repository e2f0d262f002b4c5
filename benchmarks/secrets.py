"""Count the secrets that redaction finds in the corpus of the tests, and the harmless texts that it changes.

The corpus (tests/secret_corpus) has three parts: kinds that the rules were written for, kinds that were written down
before the rules and chosen by provider to be counted only (`held_out.txt`), and harmless texts of both sorts. If
detect-secrets (PyPI) or secretlint (npm, with its recommended preset) is on the PATH, it reads the same texts, one file
each. Both report places instead of replacing values, so any report in a file counts as found; baton must have removed
the end of the secret itself.

Run by hand: `python benchmarks/secrets.py [-v]`; -v names what baton missed and what it changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from secret_corpus import HELD_OUT, SEEN, harmless, secrets

from baton_git.core.redaction import redact_text

GOALS = {"found": 96.0, "false alarms": 1.0}
"""In percent: at least, and at most."""

Scanner = Callable[[dict[str, str]], set[str]]
"""Returns the names of the texts in which a scanner reports a secret."""


def scan_with_detect_secrets(texts: dict[str, str]) -> set[str]:
    """Return the names of the texts in which detect-secrets reports something, with all its plugins."""
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder), texts)
        words = ["detect-secrets", "-C", folder, "scan", "--all-files", "--no-verify"]
        output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {Path(name).name for name in json.loads(output)["results"]}


def scan_with_secretlint(texts: dict[str, str]) -> set[str]:
    """Return the names of the texts in which secretlint reports something, with its recommended rules."""
    program = shutil.which("secretlint")
    assert program
    packages = Path(program).resolve().parents[3]  # rules are found beside the program that loads them
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder), texts)
        config = Path(folder, ".secretlintrc.json")
        rule = str(packages / "node_modules/@secretlint/secretlint-rule-preset-recommend")
        config.write_text(json.dumps({"rules": [{"id": rule}]}))
        words = [program, "--format", "json", "--secretlintrc", str(config), "*.txt"]
        report = Path(folder, "report")  # through a pipe, secretlint 12.0.0 prints only the first 64 KiB
        with report.open("w") as stdout:
            process = subprocess.run(words, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
        if process.returncode not in (0, 1):  # 1: it found something
            raise RuntimeError(process.stderr[:500])
        return {Path(file["filePath"]).name for file in json.loads(report.read_text()) if file["messages"]}


def write_texts(folder: Path, texts: dict[str, str]) -> None:
    """Write each text to a file of its own."""
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")


SCANNERS: dict[str, Scanner] = {"detect-secrets": scan_with_detect_secrets, "secretlint": scan_with_secretlint}


def measure_part(part: str, *, verbose: bool) -> list[tuple[str, float, float]]:
    """Return a row for each scanner: its name, the kinds it found and the harmless texts it reported, in percent."""
    planted, texts = list(secrets(part)), list(harmless(part))
    kinds = {one.kind for one in planted}
    missed = [one for one in planted if one.secret[-6:] in redact_text(one.text)[0]]
    changed = [text for text in texts if redact_text(text)[1]]
    if verbose:
        print(
            *(f"  missed: {one.kind}" for one in missed), *(f"  changed: {text[:90]!r}" for text in changed), sep="\n"
        )
    found = len(kinds) - len({one.kind for one in missed})
    rows = [("baton", 100 * found / len(kinds), 100 * len(changed) / len(texts))]
    for name in SCANNERS:
        if shutil.which(name) is None:
            print(f"  {name}: not on the PATH, left out")
            continue
        named = {f"s{number}.txt": one for number, one in enumerate(planted)}
        reported = SCANNERS[name]({file: one.text for file, one in named.items()})
        unreported = {one.kind for file, one in named.items() if file not in reported}
        alarms = SCANNERS[name]({f"h{number}.txt": text for number, text in enumerate(texts)})
        rows.append((name, 100 * (len(kinds) - len(unreported)) / len(kinds), 100 * len(alarms) / len(texts)))
    return rows


def main() -> int:
    """Print a table for each part of the corpus; return 1 if baton misses a goal on the whole corpus."""
    kinds = texts = 0
    found = alarms = 0.0
    for part, label in ((SEEN, "written with the rules"), (HELD_OUT, "counted only")):
        part_kinds, part_texts = len({one.kind for one in secrets(part)}), len(list(harmless(part)))
        print(f"{label}: {part_kinds} kinds, {part_texts} harmless texts")
        for name, share, alarmed in measure_part(part, verbose="-v" in sys.argv):
            print(f"  {name:<15} found {share:5.1f} %   false alarms {alarmed:4.1f} %")
            if name == "baton":
                kinds, texts = kinds + part_kinds, texts + part_texts
                found, alarms = found + share * part_kinds, alarms + alarmed * part_texts
    found, alarms = found / kinds, alarms / texts
    met = found >= GOALS["found"] and alarms <= GOALS["false alarms"]
    print(f"baton, the whole corpus: found {found:.1f} % (goal ≥ {GOALS['found']}), false alarms {alarms:.1f} % (≤ 1)")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
