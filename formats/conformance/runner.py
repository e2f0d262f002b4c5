"""Check an implementation of these formats against the golden files: `runner.py [OPTIONS] -- COMMAND [ARGUMENT…]`.

The command is started once and answers requests, one JSON object per line, on its standard input and output; README.md
describes them. Only Python's standard library and the git program are needed.

Exit codes: 0 everything that the implementation offers agrees, 1 something differs, 2 wrong usage, or the command failed.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

FORMATS = Path(__file__).resolve().parents[1]
SECONDS = 60.0
"""Time limit of one request."""
STORED = (".toml", ".md", ".txt")
SINGLE = {"head", "shape"}
"""Kinds with one file in each namespace; they have no id."""
SHOWN = 5
"""Differences that are printed of each group; `--all` prints every one."""


class ImplementationFailed(Exception):
    """The implementation ended, did not answer in time, or answered something that is not JSON."""


class Implementation:
    """A running implementation: one request at a time."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(  # noqa: S603  the user names the command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="strict"
        )
        self._answers: queue.Queue[str] = queue.Queue()
        assert self._process.stdout is not None
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()
        self._number = 0

    def _read(self, output: TextIO) -> None:
        for line in output:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, request: str, **fields: Any) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            ImplementationFailed: there is no answer, or it does not belong to the request.
        """
        self._number += 1
        line = json.dumps({"number": self._number, "request": request, **fields})
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._answers.get(timeout=SECONDS)
            data = json.loads(answer)
        except (OSError, ValueError, queue.Empty) as error:
            raise ImplementationFailed(f"no answer to {line[:200]}: {type(error).__name__} {error}") from None
        if not isinstance(data, dict) or data.get("number") != self._number:
            raise ImplementationFailed(f"not an answer to {line[:200]}: {answer[:200]}")
        return data

    def stop(self) -> None:
        """End the process."""
        with contextlib.suppress(BrokenPipeError):  # part of a request may still be buffered after the process has exited
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()


@dataclass
class Group:
    """The checks of one kind of request."""

    name: str
    request: str
    run: Callable[[Implementation], Iterator[tuple[str, str]]]
    """Yields the name of each check, and the difference; an empty text if there is none."""
    agreed: int = 0
    differences: list[tuple[str, str]] = field(default_factory=list)


def is_same(left: Any, right: Any) -> bool:
    """Return whether two JSON values are the same; `1`, `1.0` and `true` are different values."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same, left, right))
    return type(left) is type(right) and bool(left == right)


def compare(expected: Any, actual: Any) -> str:
    """Return an empty text if both are the same, else both, shortened."""
    if is_same(expected, actual):
        return ""
    return f"expected {json.dumps(expected, ensure_ascii=False)[:600]}, got {json.dumps(actual, ensure_ascii=False)[:600]}"


def load(path: Path) -> Any:
    return json.loads(path.read_bytes())


def in_json(content: bytes) -> Any:
    """Return a file's content in the form of requests: a text, or `{"base64": …}` if it is not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


# --- records


def list_files(group: str) -> Iterator[tuple[str, Path, str]]:
    """Yield kind, file, and path within the folder of the kind, of all golden files of a group."""
    for folder in sorted(FORMATS.glob(f"*/{group}")):
        kind = folder.parent.name
        if kind in ("baton", "ecc_session"):
            continue  # documents, which are exchanged and not stored
        for path in sorted(folder.rglob("*")):
            if path.suffix in STORED:
                yield kind, path, path.relative_to(folder).as_posix()


def ask_to_read(implementation: Implementation, kind: str, path: str, content: bytes) -> dict[str, Any]:
    place = {} if kind in SINGLE else {"path": path}
    return implementation.ask("read", kind=kind, **place, content=in_json(content))


def check_reading(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for kind, path, place in list_files("valid"):
        answer = ask_to_read(implementation, kind, place, path.read_bytes())
        yield f"{kind}/valid/{place}", compare(load(path.with_suffix(".json")), answer.get("value", answer))
    for kind, path, place in list_files("invalid"):
        wanted = sorted(fault["path"] for fault in load(path.with_suffix(".error.json"))["faults"])
        answer = ask_to_read(implementation, kind, place, path.read_bytes())
        faults = answer.get("faults")
        yield f"{kind}/invalid/{place}", compare(wanted, sorted(faults) if isinstance(faults, list) else answer)


def check_writing(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for kind, path, place in list_files("valid"):
        value = load(path.with_suffix(".json"))
        given = {} if kind in SINGLE else {"path": place}
        content = implementation.ask("write", kind=kind, **given, value=value).get("content")
        if not isinstance(content, str):
            yield f"{kind}/{place}", compare("content", content)
            continue
        again = ask_to_read(implementation, kind, place, content.encode())
        yield f"{kind}/{place}", compare(value, again.get("value", again))


def check_merging_records(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for path in sorted(FORMATS.glob("*/merge/*.json")):
        kind, case = path.parts[-3], load(path)
        if kind == "decisions" or case.get("rules", 3) != 3:
            continue  # whole trees, or an earlier version of the rules
        for ours, theirs in (("ours", "theirs"), ("theirs", "ours")):
            answer = implementation.ask(
                "merge_records", kind=kind, base=case["base"], ours=case[ours], theirs=case[theirs]
            )
            expected = {"result": case["result"], "contested": sorted(case["contested"])}
            actual = {"result": answer.get("result"), "contested": sorted(answer.get("contested", []))}
            yield f"{kind}/merge/{path.name}", compare(expected, actual)


def check_merging_trees(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for path in sorted((FORMATS / "decisions" / "merge").glob("*.json")):
        case = load(path)
        sides = {name: case[name] for name in ("base", "ours", "theirs")}
        answer = implementation.ask("merge_trees", **sides, prefer=case.get("prefer"))
        yield f"{path.name} decisions", compare(sort_decisions(case["decisions"]), sort_decisions(answer.get("decisions")))
        result = answer.get("result")
        missing = sorted(set(case["result"]) ^ set(result)) if isinstance(result, dict) else result
        yield f"{path.name} files", compare([], missing)


def sort_decisions(decisions: Any) -> Any:
    return sorted(decisions, key=lambda item: json.dumps(item, sort_keys=True)) if isinstance(decisions, list) else decisions


# --- names


def check_names(implementation: Implementation) -> Iterator[tuple[str, str]]:
    valid, invalid = (load(FORMATS / "names" / f"{name}.json") for name in ("valid", "invalid"))
    for group, what in (("namespaces", "namespace"), ("ids", "id")):
        for case in valid[group]:
            encoded = implementation.ask("encode_name", what=what, text=case["text"])
            yield f"{what} {case['text']!r}", compare(case["component"], encoded.get("component", encoded))
            decoded = implementation.ask("decode_name", what=what, component=case["component"])
            yield f"component {case['component']}", compare(case["text"], decoded.get("text", decoded))
    for group, what in (("namespaces", "namespace"), ("ids", "id"), ("sessions", "session"), ("agents", "agent")):
        for case in invalid[group]:
            answer = implementation.ask("encode_name", what=what, text=case["text"])
            yield f"{what} {case['text']!r}", compare(True, answer.get("refused"))
    for group, what in (("namespace_components", "namespace"), ("id_components", "id")):
        for component in invalid[group]:
            answer = implementation.ask("decode_name", what=what, component=component)
            yield f"component {component!r}", compare(True, answer.get("refused"))


# --- layout 2


def check_paths_of_layout_2(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for case in load(FORMATS / "layout2.json")["paths"]:
        answer = implementation.ask("stored_path", path=case["path"])
        yield case["path"], compare(case["stored"], answer.get("stored", answer))


def check_bundles(implementation: Implementation) -> Iterator[tuple[str, str]]:
    cases = load(FORMATS / "layout2.json")["bundles"]
    for case in cases["valid"]:
        answer = implementation.ask("split_bundle", digits=case["digits"], content=case["content"])
        yield case["about"], compare(case["files"], answer.get("files", answer))
    for case in cases["invalid"]:
        answer = implementation.ask("split_bundle", digits=case["digits"], content=case["content"])
        yield case["about"], compare(True, answer.get("refused"))


# --- values


def check_values(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for case in load(FORMATS / "values" / "canonical.json"):
        answer = implementation.ask("canonical", value=case["value"])
        yield f"text of {case['text'][:40]}", compare(case["text"], answer.get("text", answer))
        yield f"ordered text of {case['text'][:40]}", compare(case["ordered"], answer.get("ordered", answer))
    for case in load(FORMATS / "values" / "toml.json"):
        answer = implementation.ask("write_toml", value=case["value"])
        yield f"TOML of {json.dumps(case['value'])[:40]}", compare(case["toml"], answer.get("toml", answer))
    for case in load(FORMATS / "values" / "times.json"):
        yield f"time {case['text']!r}", compare(case["time"], implementation.ask("parse_time", text=case["text"]).get("time"))


# --- commits


def git(folder: Path, *words: str, content: bytes = b"") -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], input=content, capture_output=True, check=False)  # noqa: S603, S607
    if done.returncode:
        raise ImplementationFailed(f"git {' '.join(words)}: {done.stderr.decode(errors='replace').strip()[:300]}")
    return done.stdout.decode(errors="replace").strip()


def check_repositories(implementation: Implementation) -> Iterator[tuple[str, str]]:
    for case in load(FORMATS / "repositories" / "cases.json"):
        stream = (FORMATS / "repositories" / f"{case['name']}.fi").read_bytes()
        yield from check_merge(implementation, case["name"], stream, case)


def check_corpus(implementation: Implementation) -> Iterator[tuple[str, str]]:
    lines = (FORMATS / "repositories" / "random.jsonl").read_text(encoding="utf-8").splitlines()
    for number, case in enumerate(map(json.loads, lines)):
        yield from check_merge(implementation, f"random merge {number}", make_stream(case), case)


def check_merge(implementation: Implementation, name: str, stream: bytes, case: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Merge the refs `first` and `second` of a stream, in both orders; both must give the expected commit."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        git(folder, "init", "-q", "--bare", f"--object-format={case.get('object_format', 'sha1')}")
        git(folder, "fast-import", "--quiet", content=stream)
        for order in (("first", "second"), ("second", "first")):
            tips = [git(folder, "rev-parse", f"refs/heads/baton/{ref}") for ref in order]
            answer = implementation.ask("merge_commits", repository=place, first=tips[0], second=tips[1])
            difference = compare(case["commit"], answer.get("commit", answer))
            yield f"{name} {'/'.join(order)}", difference or check_stored(folder, case["commit"])


def check_stored(folder: Path, commit: str) -> str:
    """Return the fault of the objects that the implementation wrote; an empty text if there is none."""
    try:
        git(folder, "rev-list", "--objects", commit)
    except ImplementationFailed as error:
        return f"the commit was not written to the repository: {error}"
    return ""


def make_stream(case: dict[str, Any]) -> bytes:
    """Return the fast-import stream of a case of the corpus: the first commit, a base, and two commits on top of it."""
    root = load(FORMATS / "root.json")
    parents = {"root": "", "base": "root", "first": "base", "second": "base"}
    files = {"root": root["files"], "base": case["base"], "first": case["ours"], "second": case["theirs"]}
    stream = b""
    for name, parent in parents.items():
        who = f"Ada <ada@example.org> {case['times'][name]} +0000" if parent else root["who"]
        trailers = f"Baton-Op: write\nBaton-Revision: {case['revisions'][name]}" if parent else ""
        message = (f"{name}\n\n{trailers}\n" if parent else root["message"]).encode()
        stream += f"commit refs/heads/baton/{name}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n".encode() + message
        stream += f"from refs/heads/baton/{parent}\n".encode() if parent else b""
        stream += b"".join(write_file(path, content) for path, content in sorted(files[name].items())) + b"\n"
    return stream


def write_file(path: str, content: Any) -> bytes:
    """Return the part of a fast-import stream that writes a file; None removes it."""
    if content is None:
        return f"D {path}\n".encode()
    data = content.encode() if isinstance(content, str) else base64.b64decode(content["base64"])
    return f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


# --- all groups


GROUPS = (
    Group("values", "canonical", check_values),
    Group("names", "encode_name", check_names),
    Group("paths of layout 2", "stored_path", check_paths_of_layout_2),
    Group("bundles", "split_bundle", check_bundles),
    Group("reading records", "read", check_reading),
    Group("writing records", "write", check_writing),
    Group("merging records", "merge_records", check_merging_records),
    Group("merging trees", "merge_trees", check_merging_trees),
    Group("golden repositories", "merge_commits", check_repositories),
    Group("random merges", "merge_commits", check_corpus),
)


def run_group(group: Group, implementation: Implementation) -> None:
    for name, difference in group.run(implementation):
        if difference:
            group.differences.append((name, difference))
        else:
            group.agreed += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", action="append", choices=[group.name for group in GROUPS], help="only this group")
    parser.add_argument("--all", action="store_true", help=f"print every difference, not only {SHOWN} of each group")
    parser.add_argument("command", nargs="+", help="the implementation")
    options = parser.parse_args()
    try:
        implementation = Implementation(options.command)
    except OSError as error:
        print(f"cannot start {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 2
    try:
        offered = implementation.ask("hello").get("offers", [])
        return check_groups(implementation, offered, options.group, None if options.all else SHOWN)
    except ImplementationFailed as error:
        print(f"the implementation failed: {error}", file=sys.stderr)
        return 2
    finally:
        implementation.stop()


def check_groups(implementation: Implementation, offered: list[str], wanted: list[str] | None, shown: int | None) -> int:
    """Run the groups, and print at most `shown` differences of each. Return the exit code: 0 or 1."""
    differing = 0
    for group in GROUPS:
        if wanted and group.name not in wanted:
            continue
        if group.request not in offered:
            print(f"{group.name}: skipped, the implementation does not offer {group.request}")
            continue
        run_group(group, implementation)
        differing += len(group.differences)
        print(f"{group.name}: {group.agreed} agree, {len(group.differences)} differ", flush=True)
        for name, difference in group.differences[:shown]:
            print(f"  {name}: {difference}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
