"""Rules for every command: help with an example, JSON, streams, exit codes, and the files that it must not change."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest
from command_tree import all_commands, leaves
from looped_cases import for_each

from baton_git import __version__
from baton_git.interfaces.cli import COMMANDS, SECTIONS, SYSTEM_COMMANDS

ALONE = {
    ("demo",): "it creates its own repository",
    ("help",): "it prints the same text in every repository",
    ("completion",): "it prints the same shell code in every repository",
    ("schema",): "it prints the same schemas in every repository",
    ("cache", "read"): "it asks a server",
    ("cache", "write"): "as above",
    ("cache", "send"): "as above",
    ("cache", "status"): "it lists the documents in the cache",
}
"""Commands that use no repository, and what they use instead."""

NO_JSON = {("completion",), ("help",)}

FAMILIES = ("loop", "followup", "pattern", "decision", "handover", "identity")

GOOD: dict[tuple[str, ...], list[str]] = {
    ("init",): [],
    ("boot",): [],
    ("wrap",): ["--context", "It runs"],
    ("status",): [],
    ("dashboard",): [],
    ("ready",): [],
    **{(family, "list"): [] for family in FAMILIES},
    ("read",): [],
    ("write",): ["--file", "{in}/baton.json"],
    ("loop", "add"): ["Did it", "--expect", "works"],
    ("loop", "verify"): ["OL-1", "--passed"],
    ("loop", "close"): ["OL-1"],
    ("followup", "add"): ["Later"],
    ("followup", "defer"): ["FU-1"],
    ("followup", "done"): ["FU-1"],
    ("pattern", "record"): ["Assumed"],
    ("pattern", "anchor"): ["PAT-1", "--about", "readme"],
    ("pattern", "propose"): ["PAT-1", "--rule", "Look"],
    ("pattern", "dismiss"): ["PAT-1"],
    ("decision", "add"): ["Use X", "--why", "because"],
    ("decision", "anchor"): ["DEC-1", "--about", "readme"],
    ("decision", "merge"): ["DEC-1", "DEC-2"],
    ("decision", "monitor"): ["DEC-1"],
    ("decision", "supersede"): ["DEC-1", "--by", "DEC-2"],
    ("handover", "step"): ["--session", "run-1", "--challenge", "confirm", "--uri", "kairos://2", "n=1"],
    ("handover", "resume"): ["--session", "run-1"],
    ("handover", "show"): ["--file", "{in}/handover.txt"],
    ("handover", "list"): [],
    ("handover", "clear"): ["--session", "run-1", "--outcome", "completed"],
    ("handoff", "extract"): ["{in}/transcript.jsonl"],
    ("handoff", "show"): ["claude/c-1"],
    ("handoff", "list"): [],
    ("mine",): ["--dry-run"],
    ("recall",): ["Deployed it"],
    ("todo", "set"): ["[x] Read", "[>] Write"],
    ("todo", "add"): ["Write it"],
    ("todo", "start"): ["1"],
    ("todo", "done"): ["Plan"],
    ("todo", "cancel"): ["Plan it"],
    ("todo", "list"): ["--all"],
    ("checkpoint",): ["--agent", "zero", "--summary", "Did it"],
    ("restore",): ["--agent", "zero"],
    ("sessions",): ["--agent", "zero"],
    ("identity", "init"): ["--agent", "one", "--purpose", "Finish it"],
    ("identity", "show"): ["--agent", "zero"],
    ("identity", "check"): ["Done.", "--agent", "zero"],
    ("import", "paif"): ["{in}/checkpoints"],
    ("export", "paif"): ["{in}/out"],
    ("verify",): [],
    ("trust",): ["--yes", "--", "true"],
    ("log",): [],
    ("show",): [],
    ("diff",): ["1", "3"],
    ("rollback",): ["2"],
    ("undo",): [],
    ("redo",): [],
    ("session", "list"): [],
    ("session", "inspect"): ["baton:s1"],
    ("session", "record"): ["--file", "{in}/snapshot.json"],
    ("session", "history"): ["baton/s1"],
    ("session", "show"): ["baton/s1"],
    ("session", "snapshots"): [],
    ("session", "lineage"): [],
    ("session", "adapters"): [],
    ("workflow", "list"): [],
    ("workflow", "check"): ["{in}/workflow.yaml"],
    ("workflow", "show"): ["session-handoff"],
    ("workflow", "allow"): ["mine"],
    ("workflow", "disallow"): ["mine"],
    ("workflow", "enable"): ["autonomous-loop"],
    ("workflow", "disable"): ["session-handoff"],
    ("workflow", "run"): ["on_session_start", "--dry-run"],
    ("import", "session-baton"): ["{in}/baton.json"],
    ("export", "session-baton"): ["{in}/out.json"],
    ("import", "quarantine"): [],
    ("import", "discard"): ["--all"],
    ("import", "ecc"): ["{in}/recording.json"],
    ("export", "ecc"): ["{in}/recordings"],
    ("import", "kairos"): ["{in}/handover.txt"],
    ("export", "kairos"): ["{in}/out.txt"],
    ("cache", "read"): ["work", "--url", "http://127.0.0.1:9"],
    ("cache", "write"): ["work", "--url", "http://127.0.0.1:9", "--file", "{in}/baton.json"],
    ("cache", "send"): ["--url", "http://127.0.0.1:9"],
    ("cache", "status"): [],
    ("list",): ["open_loop"],
    ("record",): ["open_loop", "OL-1"],
    ("edit",): ["OL-1", "--ttl-days", "3"],
    ("reopen",): ["FU-0"],
    ("forget",): ["OL-1", "--reason", "a mistake"],
    ("namespace", "list"): [],
    ("namespace", "rename"): ["work", "shop"],
    ("namespace", "delete"): ["work", "--yes"],
    ("namespace", "move"): [],
    ("namespace", "restore"): ["work"],
    ("namespace", "accept"): ["work", "--yes"],
    ("validate",): [],
    ("gc",): [],
    ("uninstall",): ["--dry-run"],
    ("doctor",): ["refs"],
    ("sync",): ["--remote", "{in}/remote.git"],
    ("review",): ["--remote", "{in}/remote.git"],
    ("outgoing",): [],
    ("remote", "list"): [],
    ("conflicts",): [],
    ("resolve",): ["C-1", "--ours"],
    ("merge-driver",): ["{in}/base", "{in}/ours", "{in}/theirs", "open_loops/OL-1.toml"],
    ("hooks", "install"): [],
    ("hooks", "status"): [],
    ("hooks", "uninstall"): [],
    ("hooks", "run"): ["post-commit"],
    ("agents", "install"): ["claude"],
    ("agents", "status"): [],
    ("agents", "uninstall"): ["claude"],
    ("agents", "package"): ["claude"],
}
"""For each command, arguments with which it succeeds in the filled repository."""

ELSEWHERE = {
    ("pattern", "graduate"), ("decision", "confirm"), ("loop-run",), ("session", "stop"), ("mcp",), ("serve",),
    ("pattern", "merge"), ("followup", "merge"), ("remote", "policy"), ("remote", "review"),
}  # fmt: skip
"""Commands that need a person, an agent, a remote or a second record, or never end: tested in agents/sessions,
interfaces/mcp, interfaces/http, verbs/test_similar_records."""

CREATES = [("loop", "add"), ("followup", "add"), ("pattern", "record"), ("decision", "add")]


BEFORE = {("redo",): ("undo",)}
"""For each of these commands, the command that must run before it."""


def words_of(command, folder):
    """Return the words of a call that succeeds."""
    return [*command, *(one.replace("{in}", str(folder)) for one in GOOD[command])]


def test_the_table_of_this_test_has_every_command():
    assert {words[0] for words in leaves()} == set(COMMANDS)
    assert set(GOOD) | set(ALONE) | ELSEWHERE == set(leaves())


@for_each("command", leaves(), ids=" ".join)
def test_help_has_an_example(baton, command):
    done = baton(*command, "--help")
    examples = [line for line in done.out.splitlines() if line.strip().startswith(f"baton {command[0]}")]
    assert examples
    assert baton(*command, "-h").out == done.out


@for_each("command", [words for words in all_commands() if words not in leaves()], ids=" ".join)
def test_a_group_lists_its_commands(baton, command):
    done = baton(*command, "--help")
    shown = [words for words in leaves() if words[:1] == command and not all_commands()[words].hidden]
    assert all(f"  {name}" in done.out for words in shown for name in words[1:2])
    assert not [line for line in done.out.splitlines() if line.endswith("...") and not line.startswith("Usage")]


def test_the_help_lists_the_commands_of_its_sections_with_their_line_of_help(baton):
    done = baton("--help")
    for name, (_, text) in COMMANDS.items():
        is_listed = any(name in names for names in SECTIONS.values())
        assert (f"\n  {name} " in done.out) == (text[:30] in done.out) == is_listed
    for command, (_, text) in COMMANDS.items():
        assert all_commands()[(command,)].get_short_help_str(300).rstrip(".").split()[0] == text.rstrip(".").split()[0]


def test_the_version_is_printed(baton):
    assert baton("--version").out == f"baton, version {__version__}\n"


@for_each("command", leaves(), ids=" ".join)
def test_every_command_has_the_common_options(command):
    options = {name for one in all_commands()[command].params if isinstance(one, click.Option) for name in one.opts}
    assert "--json" in options or command in NO_JSON
    if command not in ALONE:
        assert options >= {"--namespace", "--repo", "--session", "--agent"}


@pytest.mark.parametrize("command", GOOD, ids=" ".join)
def test_a_command_succeeds_and_with_json_prints_only_json(baton, filled, refill, command):
    words = words_of(command, filled)
    if command in BEFORE:
        baton(*BEFORE[command])
    code = 3 if command in (("sync",), ("wrap",)) else 0  # the namespace has an open conflict
    data = baton(*command, "--json", *words[len(command) :], code=code).json
    assert data is not None
    if command in CREATES:
        assert set(data) == {"id", "commit", "revision", "summary", "changes", "redactions"}
    refill()
    if command in BEFORE:
        baton(*BEFORE[command])
    done = baton(*words, code=code)
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize("command", CREATES, ids=" ".join)
def test_commands_that_create_a_record_print_its_id_to_stdout_only(baton, filled, command):
    done = baton(*words_of(command, filled))
    assert done.out == f"{done.id}\n"
    assert " " not in done.id
    assert done.id in done.err
    assert "revision" in done.err


BAD = [
    ("init", "--namespace", ""),
    ("init", "--namespace", "x" * 300),
    ("init", "surplus"),
    ("boot", "--budget", "5"),
    ("boot", "--check-budget", "61"),
    ("boot", "--session", "a\nb"),
    ("wrap", "--context", "a", "--file", "b"),
    ("wrap", "--expected-revision", "-1"),
    ("wrap", "--file", "/nonexistent"),
    ("wrap", "--context", "\udcff"),
    ("status", "surplus"),
    ("status", "--agent", "a b"),
    ("status", "--repo", "/etc/passwd"),
    ("dashboard", "surplus"),
    ("dashboard", "--agent", "a b"),
    ("dashboard", "--repo", "/etc/passwd"),
    ("ready", "surplus"),
    ("ready", "--limit", "0"),
    ("ready", "--repo", "/etc/passwd"),
    ("read", "--at", "whenever"),
    ("read", "--at", "99"),
    ("read", "--at", "0001-01-01"),
    ("read", "--repo", "/etc"),
    ("write",),
    ("write", "--file", "/nonexistent"),
    ("write", "--file", "-"),
    ("write", "--file", "{in}"),
    ("write", "--file", "{in}/baton.json", "--expected-revision", "x"),
    ("help", "dater"),
    ("help", "loop", "addd"),
    ("help", "dates", "loop"),
    ("status", "--repo", ""),
    ("status", "--session", ""),
    ("loop", "add"),
    ("loop", "add", "x"),
    ("loop", "add", "x", "--expect", "y", "--ttl-days", "-1"),
    ("loop", "add", "x", "--expect", "y", "--verify-port", "nowhere"),
    ("loop", "add", "x", "--expect", "y", "--verify-file", "a", "--verify-http", "b"),
    ("loop", "add", "x", "--expect", "y", "--status", "200"),
    ("loop", "add", "x", "--expect", "y", "--verify-command"),
    ("loop", "add", "x", "--expect", "y", "--", "pytest"),
    ("loop", "add", " ", "--expect", "y"),
    ("loop", "add", "\udcff", "--expect", "y"),
    ("loop", "close", "\udcff"),
    ("loop", "verify"),
    ("loop", "verify", "OL-nope"),
    ("loop", "verify", "FU-1", "--passed"),
    ("loop", "close", "OL-nope"),
    ("loop", "close"),
    ("loop", "close", ""),
    ("followup", "add"),
    ("followup", "add", ""),
    ("followup", "add", "x", "--priority", "huge"),
    ("followup", "defer"),
    ("followup", "defer", "nope"),
    ("followup", "defer", "OL-1"),
    ("followup", "done"),
    ("followup", "done", "nope"),
    ("followup", "done", "FU-1", "surplus"),
    ("pattern", "record"),
    ("pattern", "record", " "),
    ("pattern", "record", "x", "--id", "y" * 300),
    ("pattern", "anchor"),
    ("pattern", "anchor", "nope"),
    ("pattern", "anchor", "PAT-1", "--about", "nope"),
    ("pattern", "propose", "PAT-1"),
    ("pattern", "propose", "nope", "--rule", "r"),
    ("pattern", "propose", "PAT-1", "--rule", " "),
    ("pattern", "graduate"),
    ("pattern", "graduate", "nope"),
    ("pattern", "graduate", "PAT-1"),
    ("pattern", "dismiss"),
    ("pattern", "dismiss", "nope"),
    ("pattern", "dismiss", "PAT-1", "--huh"),
    ("decision", "add", "x"),
    ("decision", "add", "x", "--why", ""),
    ("decision", "add", "x", "--why", "y", "--tier", "god"),
    ("decision", "add", "x", "--why", "y", "--id", "DEC-1"),
    ("decision", "anchor"),
    *(
        (word, "merge", *words)
        for word, id_ in (("decision", "DEC-1"), ("pattern", "PAT-1"), ("followup", "FU-1"))
        for words in ([], [id_], [id_, "nope"], [id_, id_])
    ),
    ("decision", "anchor", "nope"),
    ("decision", "anchor", "DEC-1", "--about", "nope"),
    ("decision", "monitor"),
    ("decision", "monitor", "nope"),
    ("decision", "monitor", "D"),
    ("decision", "confirm"),
    ("decision", "confirm", "DEC-1"),
    ("decision", "confirm", "--all"),
    ("decision", "confirm", "DEC-1", "--all"),
    ("decision", "supersede", "DEC-1"),
    ("decision", "supersede", "DEC-1", "--by", "nope"),
    ("decision", "supersede", "DEC-1", "--by", "DEC-1"),
    ("remote", "list", "x"),
    ("remote", "list", "--huh"),
    ("remote", "list", "--json", "nope"),
    ("remote", "policy"),
    ("remote", "policy", "nope", "review"),
    ("remote", "policy", "origin", "sometimes"),
    ("remote", "review"),
    ("remote", "review", "nope"),
    ("remote", "review", "origin", "--huh"),
    ("handover", "step"),
    ("handover", "step", "--session", "run-1"),
    ("handover", "step", "--session", "run-1", "--challenge", "x"),
    ("handover", "step", "--session", "run-1", "--challenge", "x", "--uri", "u", "--index", "0"),
    ("handover", "step", "--session", "run-1", "--challenge", "x", "--uri", "u", "novalue"),
    ("handover", "step", "--session", "run-1", "--stay", "a=1", "a=2"),
    ("handover", "step", "--session", "run-1", "--stay", "a=1", "--unset", "a"),
    ("handover", "step", "--session", "run-1", "--stay", "updated_at=now"),
    ("handover", "step", "--session", "run-1", "--stay", "=1"),
    ("handover", "step", "--session", "run-1", "--stay", "a=\udcff"),
    ("handover", "step", "--session", "nope", "--stay", "a=1"),
    ("handover", "step", "--session", "", "--stay"),
    ("handover", "step", "--session", "run-1", "--stay", "--file", "{in}/broken.txt"),
    ("handover", "step", "--session", "run-1", "--stay", "--file", "{in}"),
    ("handover", "resume", "--session", "nope"),
    ("handover", "resume", "--uri", "nope"),
    ("handover", "resume", "--session", "run-1", "--uri", "x"),
    ("handover", "resume", "--stale-after", "nan"),
    ("handover", "resume", "--stale-after", "-1"),
    ("handover", "resume", "--file", "{in}"),
    ("handover", "resume", "--session", ""),
    ("handover", "show", "--session", "nope"),
    ("handover", "show", "--at", "99"),
    ("handover", "show", "surplus"),
    ("handover", "list", "surplus"),
    ("handover", "list", "--limit", "0"),
    ("handover", "list", "--after", "nope"),
    ("handover", "clear"),
    ("handover", "clear", "--outcome", "lost"),
    ("handover", "clear", "--session", "nope", "--outcome", "completed"),
    ("handover", "clear", "--outcome", "completed", "--file", "{in}/broken.txt"),
    ("handoff", "extract"),
    ("handoff", "extract", "/nonexistent"),
    ("handoff", "extract", "{in}"),
    ("handoff", "extract", "{in}/base"),
    ("handoff", "extract", "latest"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--agent", "cursor"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--max-turns", "0"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--only", "everything"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--format", "poem"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--config", "/nonexistent"),
    ("handoff", "extract", "{in}/transcript.jsonl", "--config", "{in}"),
    ("handoff", "extract", "\udcff"),
    ("handoff", "list", "surplus"),
    ("mine", "surplus"),
    ("mine", "--agent", "cursor"),
    ("mine", "--since", "soon"),
    ("mine", "--all", "--project", "."),
    ("handoff", "list", "--limit", "0"),
    ("handoff", "list", "--after", "nope"),
    ("handoff", "show", "nobody/x"),
    ("handoff", "show", ""),
    ("handoff", "show", "claude/c-1", "99"),
    ("handoff", "show", "\udcff"),
    ("todo", "set"),
    ("todo", "set", "a", "a"),
    ("todo", "set", "[?] a"),
    ("todo", "set", "a", "--file", "-"),
    ("todo", "set", "--file", "/nonexistent"),
    ("todo", "set", "\udcff"),
    ("todo", "add"),
    ("todo", "add", " "),
    ("todo", "add", "Plan it"),
    ("todo", "add", "a", "--session", "nobody"),
    *(("todo", verb, *words) for verb in ("start", "done", "cancel") for words in ((), ("nope",), ("99",), ("",))),
    ("todo", "list", "surplus"),
    ("todo", "list", "--huh"),
    ("todo", "list", "--session", "nobody"),
    ("checkpoint", "--agent", "zero"),
    ("checkpoint", "--summary", "x"),
    ("checkpoint", "--agent", "a/b", "--summary", "x"),
    ("checkpoint", "--agent", "zero", "--summary", "x", "--duration", "-1"),
    ("checkpoint", "--agent", "zero", "--summary", "x", "--started-at", "tuesday"),
    ("checkpoint", "--agent", "zero", "--file", "{in}/baton.json", "--file", "/nonexistent"),
    ("checkpoint", "--agent", "zero", "--file", "-"),
    ("checkpoint", "--agent", "zero", "--summary", "\udcff"),
    ("restore",),
    ("restore", "--agent", "nobody"),
    ("restore", "--agent", "zero", "--budget", "5"),
    ("restore", "--agent", "../zero"),
    ("sessions",),
    ("sessions", "--agent", "nobody"),
    ("sessions", "--agent", "zero", "--limit", "0"),
    ("identity", "init", "--agent", "one"),
    ("identity", "init", "--agent", "zero", "--purpose", "another"),
    ("identity", "init", "--agent", "one", "--purpose", "\udcff"),
    ("identity", "init", "--agent", "one", "--file", "{in}/base", "--file", "/nonexistent"),
    ("identity", "show"),
    ("identity", "show", "--agent", "nobody"),
    ("identity", "show", "--agent", "zero", "surplus"),
    ("identity", "check", "--agent", "zero"),
    ("identity", "check", "--agent", "zero", " "),
    ("identity", "check", "--agent", "nobody", "x"),
    ("import", "paif"),
    ("import", "paif", "/nonexistent"),
    ("import", "paif", "{in}/baton.json"),
    ("import", "paif", "{in}/checkpoints", "--agent", "nobody"),
    ("export", "paif"),
    ("export", "paif", "{in}/baton.json"),
    ("export", "paif", "{in}/out", "--agent", "nobody"),
    ("export", "paif", "/proc/nope"),
    ("verify", "nope"),
    ("verify", "--budget", "0"),
    ("verify", "--budget", "x"),
    ("cache", "read"),
    ("cache", "read", "work"),
    ("cache", "read", "", "--url", "http://127.0.0.1:9"),
    ("cache", "read", "work", "--url", "http://a:b@127.0.0.1:9"),
    ("cache", "read", "work", "--url", "http://127.0.0.1:9", "--timeout", "0"),
    ("cache", "write", "work", "--url", "http://127.0.0.1:9"),
    ("cache", "write", "work", "--url", "http://127.0.0.1:9", "--file", "/nonexistent"),
    ("cache", "write", "work", "--url", "http://127.0.0.1:9", "--file", "{in}/broken.txt"),
    ("cache", "write", "\udcff", "--url", "http://127.0.0.1:9", "--file", "{in}/baton.json"),
    ("cache", "send", "nobody", "--url", "http://127.0.0.1:9"),
    ("cache", "send", "--merge", "--url", "http://127.0.0.1:9"),
    ("cache", "send", "work", "--all", "--url", "http://127.0.0.1:9"),
    ("cache", "send", "nobody", "--ours", "--url", "http://127.0.0.1:9"),
    ("cache", "status", "surplus"),
    ("cache", "status", "--folder", "{in}/baton.json"),
    ("cache", "status", "--huh"),
    ("trust", "nope"),
    ("trust", "OL-1"),
    ("trust", "a", "b"),
    ("trust", "--yes", "--from", ""),
    ("trust", "--yes", "--from", "--upload-pack=x"),
    ("trust", "--from", "origin", "OL-1"),
    ("trust", "--yes", "--", ""),
    ("trust", "--yes", "--", "\udcff"),
    ("log", "--since", "whenever"),
    ("log", "--since", "0000-01-01"),
    ("log", "--record", ""),
    ("log", "--limit", "0"),
    ("log", "surplus"),
    ("show", "99"),
    ("show", "HEAD"),
    ("show", "1", "2"),
    ("recall",),
    ("recall", ""),
    ("recall", "x", "--kind", "nonsense"),
    ("recall", "x", "--since", "whenever"),
    ("recall", "x", "--budget", "1"),
    ("recall", "x", "--huh"),
    ("diff",),
    ("diff", "x"),
    ("diff", "1", "99"),
    ("rollback",),
    ("rollback", "99"),
    ("rollback", "--record", "nope"),
    ("rollback", "1", "--of-session", "s1"),
    ("rollback", "--of-session", "nobody"),
    ("undo", "99"),
    ("undo", "0"),
    ("undo", "x"),
    ("redo",),
    ("redo", "--dry-run"),
    ("redo", "1"),
    ("session", "list", "surplus"),
    ("session", "list", "--adapter", "nobody"),
    ("session", "list", "--limit", "0"),
    ("session", "inspect"),
    ("session", "inspect", ""),
    ("session", "inspect", "nothing"),
    ("session", "inspect", "claude:nothing"),
    ("session", "inspect", "baton:s1", "--adapter", "nobody"),
    ("session", "inspect", "baton:s1", "--target-type", "nonsense"),
    ("session", "inspect", "recorded:nobody/x"),
    ("session", "inspect", "baton:s1", "--write", "/proc/nope/x.json"),
    ("session", "inspect", "\udcff"),
    ("session", "record"),
    ("session", "record", "nothing"),
    ("session", "record", "baton:s1", "--file", "{in}/snapshot.json"),
    ("session", "record", "--file", "{in}/wrong.json"),
    ("session", "record", "--file", "{in}/baton.json"),
    ("session", "record", "--file", "/nonexistent"),
    ("session", "record", "--file", "-"),
    ("session", "history"),
    ("session", "history", "nobody/x"),
    ("session", "history", ""),
    ("session", "history", "baton/s1", "--limit", "0"),
    ("session", "show", "nobody/x"),
    ("session", "show", ""),
    ("session", "show"),
    ("session", "snapshots", "surplus"),
    ("session", "snapshots", "--limit", "0"),
    ("session", "snapshots", "--after", "nope"),
    ("session", "adapters", "surplus"),
    ("session", "adapters", "--huh"),
    ("session", "adapters", "--limit", "3"),
    ("session", "list", "--recorded", "--spawned"),
    ("session", "lineage", "surplus"),
    ("session", "lineage", "--limit", "0"),
    ("session", "lineage", "--after", "nope"),
    ("session", "stop"),
    ("session", "stop", "nope"),
    ("session", "stop", ""),
    ("session", "stop", "../x"),
    ("workflow", "list", "surplus"),
    ("workflow", "list", "--huh"),
    ("workflow", "list", "--repo", "/etc/passwd"),
    ("workflow", "check"),
    ("workflow", "check", "/nonexistent"),
    ("workflow", "check", "{in}"),
    ("workflow", "check", "{in}/broken.txt"),
    ("workflow", "show"),
    ("workflow", "show", "nope"),
    ("workflow", "show", "\udcff"),
    ("workflow", "allow"),
    ("workflow", "allow", "nope"),
    ("workflow", "allow", "session-handoff"),
    ("workflow", "disallow"),
    ("workflow", "disallow", "nope"),
    ("workflow", "disallow", "session-handoff"),
    ("workflow", "enable"),
    ("workflow", "enable", "nope"),
    ("workflow", "enable", "../x"),
    ("workflow", "disable"),
    ("workflow", "disable", "nope"),
    ("workflow", "disable", ""),
    ("workflow", "run"),
    ("workflow", "run", "on_nothing"),
    ("workflow", "run", "on_stop", "--data", "{"),
    ("workflow", "run", "on_stop", "--data", "[]"),
    ("workflow", "run", "on_stop", "--data", "@/nonexistent"),
    ("loop-run",),
    ("loop-run", "x", "--file", "y"),
    ("loop-run", "--file", "/nonexistent"),
    ("loop-run", "x", "--cli", "cat"),
    ("loop-run", "x", "--budget", "nan"),
    ("loop-run", "x", "--max-iterations", "0"),
    ("import", "ecc"),
    ("import", "ecc", "/nonexistent"),
    ("import", "ecc", "{in}/snapshot.json"),
    ("import", "ecc", "/etc/passwd"),
    ("export", "ecc"),
    ("export", "ecc", "{in}/recordings", "--id", "nobody"),
    ("export", "ecc", "/proc/nope"),
    ("import",),
    ("import", "quarantine", "x"),
    ("import", "quarantine", "--nope"),
    ("import", "quarantine", "-n", ""),
    ("import", "discard"),
    ("import", "discard", "nope"),
    ("import", "discard", "nope", "--all"),
    ("import", "session-baton"),
    ("import", "session-baton", "/nonexistent"),
    ("import", "session-baton", "/etc/passwd"),
    ("import", "session-baton", "x", "--from", "a", "--all"),
    ("export", "session-baton"),
    ("export", "session-baton", "x.unknown"),
    ("export", "session-baton", "/proc/nope/x.json"),
    ("export", "session-baton", "x.json", "--all"),
    ("import", "kairos"),
    ("import", "kairos", "/nonexistent"),
    ("import", "kairos", "{in}/broken.txt"),
    ("import", "kairos", "/etc/passwd"),
    ("export", "kairos"),
    ("export", "kairos", "{in}"),
    ("export", "kairos", "{in}/baton.json"),
    ("export", "kairos", "{in}/x.txt", "--session", "nope"),
    ("export", "kairos", "/proc/nope/x.txt"),
    ("list", "nothing"),
    ("list", "--status", "nothing"),
    *(
        (family, "list", *words)
        for family in FAMILIES
        for words in (("surplus",), ("--sort", "nothing"), ("--after", "nothing/OL-1"))
    ),
    ("show", "OL-nope"),
    ("list", "--limit", "0"),
    ("list", "--after", "nothing/OL-1"),
    ("edit", "OL-nope", "--reason", "x"),
    ("edit", "OL-1"),
    ("edit", "OL-1", "--item", "x"),
    ("edit", "OL-1", "--ttl-days", "-1"),
    ("edit", "OL-1", "--unset", "id"),
    ("reopen",),
    ("reopen", "OL-nope"),
    ("reopen", "OL-1"),
    ("forget", "OL-1"),
    ("forget", "OL-nope", "--reason", "x"),
    ("forget", "C-1", "--reason", "x"),
    ("record", "open_loop", "OL-nope"),
    ("record", "nothing", "OL-1"),
    ("record", "open_loop", "OL-1", "--at", "whenever"),
    ("namespace", "list", "surplus"),
    ("namespace", "list", "--after", "nothing"),
    ("namespace", "list", "--limit", "1001"),
    ("namespace", "rename", "nobody", "other"),
    ("namespace", "rename", "work", "work"),
    ("namespace", "rename", "work", "other", "--remote", "nowhere"),
    ("namespace", "move", "surplus"),
    ("namespace", "move", "--remote", "nowhere"),
    ("namespace", "move", "--huh"),
    ("namespace", "restore", "nobody"),
    ("namespace", "restore", "x" * 300),
    ("namespace", "restore"),
    ("namespace", "accept", "nobody", "--yes"),
    ("namespace", "accept", "x" * 300, "--yes"),
    ("namespace", "accept"),
    ("namespace", "delete", "nobody", "--yes"),
    ("namespace", "delete", "work"),
    ("namespace", "delete", "work", "--remote", "nowhere", "--dry-run"),
    ("validate", "/nonexistent"),
    ("validate", "--kind", "huh"),
    ("validate", "--at", "99"),
    ("schema", "huh"),
    ("schema", "open_loop", "surplus"),
    ("schema", "--huh"),
    *(
        ("hooks", verb, *words)
        for verb in ("install", "status", "uninstall")
        for words in (
            ("surplus",),
            ("--huh",),
            ("--repo", "/etc/passwd"),
        )
    ),
    ("hooks", "run"),
    ("hooks", "run", "nope"),
    ("hooks", "run", "post-commit", "--repo", "/etc/passwd"),
    ("agents", "install"),
    ("agents", "install", "cursor"),
    ("agents", "install", "claude", "--trust"),
    ("agents", "install", "codex", "--todo-tools"),
    ("agents", "install", "claude", "--project", "--repo", "/etc/passwd"),
    ("agents", "status", "cursor"),
    ("agents", "status", "claude", "surplus"),
    ("agents", "status", "--repo", "/etc/passwd"),
    ("agents", "uninstall"),
    ("agents", "uninstall", "cursor"),
    ("agents", "uninstall", "all", "surplus"),
    ("agents", "package"),
    ("agents", "package", "all"),
    ("agents", "package", "claude", "surplus"),
    ("serve", "surplus"),
    ("serve", "--port", "65536"),
    ("serve", "--port", "x"),
    ("serve", "--host", ""),
    ("serve", "--host", "0.0.0.0"),
    ("serve", "--host", "no.such.host.invalid"),
    ("serve", "--namespace", ""),
    ("serve", "--repo", "/etc/passwd"),
    ("mcp", "surplus"),
    ("mcp", "--huh"),
    ("mcp", "--namespace", ""),
    ("mcp", "--repo", "/etc/passwd"),
    ("mcp", "--port", "1"),
    ("mcp", "--host", "127.0.0.1"),
    ("mcp", "--http", "surplus"),
    ("mcp", "--http", "--port", "65536"),
    ("mcp", "--http", "--port", "x"),
    ("mcp", "--http", "--host", ""),
    ("mcp", "--http", "--host", "0.0.0.0"),
    ("mcp", "--http", "--host", "no.such.host.invalid"),
    ("mcp", "--http", "--host", f"{'x' * 64}.invalid"),
    ("mcp", "--http", "--repo", "/etc/passwd"),
    ("doctor", "nope"),
    ("doctor", "--yes"),
    ("doctor", "--fix", "--undo", "--yes"),
    ("doctor", "--undo", "--yes"),
    ("uninstall",),
    ("uninstall", "surplus"),
    ("uninstall", "--machine", "--remote"),
    ("uninstall", "--dry-run", "--repo", "/etc/passwd"),
    ("gc", "surplus"),
    ("gc", "--huh"),
    ("gc", "--repo", "/etc/passwd"),
    ("sync",),
    ("sync", "--remote", "nope"),
    ("outgoing", "nope"),
    ("outgoing", "--upload-pack=touch x"),
    ("outgoing", "a", "b"),
    ("sync", "--settle", "huh"),
    ("sync", "--remote", "--upload-pack=touch x"),
    ("review",),
    ("review", "--remote", "{in}/remote.git", "--accept-all", "--reject-all"),
    ("review", "surplus"),
    ("conflicts", "surplus"),
    ("conflicts", "--repo", "/etc/passwd"),
    ("conflicts", "--huh"),
    ("resolve",),
    ("resolve", "nope", "--ours"),
    ("resolve", "C-1"),
    ("resolve", "C-1", "--ours", "--value", "x"),
    ("resolve", "C-1", "--value", "7"),
    ("merge-driver",),
    ("merge-driver", "/nonexistent", "/nonexistent", "/nonexistent", "open_loops/OL-1.toml"),
    ("merge-driver", "{in}/base", "{in}/ours", "{in}/theirs", "../../x.toml"),
    ("completion",),
    ("completion", "tcsh"),
    ("completion", "bash", "surplus"),
    ("demo", "surplus"),
    ("demo", "--huh"),
    ("demo", "--keep=3"),
    ("nosuch",),
    ("--huh",),
]
"""Calls that must be refused."""


def group_by_command():
    """Group the calls in `BAD` by their command."""
    commands, groups = leaves(), {}
    for words in BAD:
        named = [command for command in commands if words[: len(command)] == command]
        groups.setdefault(max(named, key=len, default=words[:1]), []).append(words)
    return groups


BAD_BY_COMMAND = group_by_command()
"""The calls of one command share a repository, because none of them may change it."""


def read_refs(top):
    folder = top / ".git"
    files = [*(folder / "refs").rglob("*"), folder / "packed-refs", folder / "HEAD"]
    return {str(file): file.read_text() for file in files if file.is_file()}


@for_each("command", BAD_BY_COMMAND, ids=" ".join)
def test_bad_input_is_reported_in_one_line_and_changes_nothing(baton, filled, top, command):
    before = read_refs(top)
    for words in BAD_BY_COMMAND[command]:
        done = baton(*(one.replace("{in}", str(filled)) for one in words), code=None)
        assert done.code in (1, 2, 5), (words, done)
        assert "Traceback" not in done.err, words
        assert "a bug" not in done.err, words
        errors = [line for line in done.err.splitlines() if line.startswith(("Error: ", "baton: "))]
        assert len(errors) == 1 or (done.code == 2 and len(words) == 1 and "Usage" in done.err), (words, done)
        assert read_refs(top) == before, words


def test_every_command_has_at_least_three_cases_of_bad_input():
    counts = {command: sum(words[: len(command)] == command for words in BAD) for command in leaves()}
    assert {command: count for command, count in counts.items() if count < 3} == {}


def test_with_json_an_error_is_printed_as_json_too(baton, filled):
    done = baton("loop", "close", "OL-nope", "--json", code=1)
    assert done.json["error"] == "not_found"
    assert (
        done.err
        == "baton: there is no open loop 'OL-nope'\n       to list the records of this kind: baton list open-loops\n"
    )


def test_an_empty_argument_is_called_empty(baton, filled):
    assert baton("recall", "", code=2).err.endswith("Error: QUESTION is empty\n")
    assert baton("namespace", "delete", "", code=2).err.endswith("Error: NAME is empty\n")


def test_the_list_of_schemas_can_be_printed_as_json(baton):
    assert "open_loop" in baton("schema", "--json").json["kinds"]
    assert baton("schema", "open_loop", "--json").json["type"] == "object"


def test_a_misspelled_command_gets_a_hint(baton):
    done = baton("followups", code=2)
    assert "Did you mean followup?" in done.err
    assert "there is no command 'xyz'" in baton("xyz", code=2).err


def test_a_misspelled_command_of_a_group_gets_a_hint(baton):
    assert "baton namespace has no command 'lst'. Did you mean list?" in baton("namespace", "lst", code=2).err
    assert "Commands: ecc, kairos, paif, session-baton" in baton("export", "json", code=2).err


@pytest.mark.parametrize("system", SYSTEM_COMMANDS)
def test_the_name_of_another_system_leads_to_its_commands(baton, system):
    names = SYSTEM_COMMANDS[system]
    assert set(names) <= COMMANDS.keys()
    assert f"there is no command {system!r}; see: {', '.join(names)}\n" in baton(system, code=2).err


def test_an_error_has_a_hint(baton, filled):
    done = baton("pattern", "graduate", "PAT-1", code=1)
    first, hint = done.err.splitlines()
    assert first == "baton: pattern PAT-1 graduates only when a person confirms it"
    assert hint.strip() == "in a terminal: baton pattern graduate PAT-1; or on the page of baton serve"


# --- exit codes, and standard streams


def test_a_stale_revision_exits_with_3_and_the_current_state(baton, filled):
    done = baton("write", "--file", str(filled / "baton.json"), "--expected-revision", "1", code=3)
    assert done.json["current_revision"] > 1
    assert done.json["current_baton"]["open_loops"][0]["id"] == "OL-1"
    assert baton("wrap", "--context", "x", "--expected-revision", "1", code=3).out == ""


@pytest.mark.slow
def test_a_held_lock_exits_with_4(baton_process, filled, top):
    (top / ".git/refs/heads/baton/work.lock").touch()
    done = baton_process("followup", "defer", "FU-1", code=4)
    assert done.err.startswith("baton: ")
    assert len(done.err.splitlines()) <= 2


def test_checks_exit_with_0_passed_1_failed_5_unknown(baton, filled, top):
    assert baton("verify").out == "OL-1  passed\n"
    baton("loop", "add", "x", "--expect", "y", "--id", "OL-2", "--verify-command", "--", "true")
    done = baton("verify", code=5)
    assert done.out.startswith("OL-2  unknown: ")
    baton("loop", "add", "x", "--expect", "y", "--id", "OL-3", "--verify-file", "absent")
    baton("verify", code=1)
    assert baton("loop", "verify", "OL-3", "--json", code=1).json["checks"]["OL-3"]["result"] == "failed"
    baton("trust", "OL-2", "--yes")
    baton("loop", "verify", "OL-2")


def test_validate_exits_with_1_when_something_is_wrong(baton, filled):
    baton("validate")
    (filled / "bad.json").write_text('{"session_id": "s", "open_loops": [{"id": "x"}]}')
    done = baton("validate", str(filled / "bad.json"), code=1)
    assert f"{filled / 'bad.json'}: open_loops[0].action: is missing" in done.out
    assert "1 with faults" in done.err


def test_a_bug_in_baton_exits_with_70_and_writes_a_report(top, tmp_path):
    code = (
        "import sys; sys.argv = ['baton', 'status']\n"
        "from baton_git.interfaces.cli import main\n"
        "from baton_git.namespace import branch\n"
        "branch.Branch.read = lambda *_, **__: 1 / 0\n"
        "main()"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=top, capture_output=True, text=True, env=env)
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    assert "a bug in baton itself: ZeroDivisionError" in done.stderr
    (report,) = tmp_path.glob("baton-error-*.txt")
    assert "Traceback" in report.read_text()


def in_a_shell(top, line):
    """Run a line with `baton` in bash; return the finished process."""
    line = line.replace("baton", f"{sys.executable} -m baton_git")
    return subprocess.run(["bash", "-c", line], cwd=top, capture_output=True, check=False)


def test_a_closed_output_pipe_is_not_an_error(filled, top):
    done = in_a_shell(top, "(baton read; echo status $? >&2) | true")
    assert done.stderr == b"status 0\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("baton status >&-", 0), ("baton followup add x 2>&-", 0), ("baton followup defer FU-1 <&- >&- 2>&-", 0),
        ("baton wrap --file - <&-", 2), ("baton pattern graduate PAT-1 <&-", 1), ("baton read >/dev/full", 1),
    ],
)  # fmt: skip
def test_closed_or_full_standard_streams_are_not_reported_as_a_bug(filled, git, top, line, code):
    done = in_a_shell(top, line)
    assert done.returncode == code
    assert b"a bug" not in done.stderr
    assert b"Exception" not in done.stderr
    git(top, "fsck", "--strict")


def test_an_output_that_cannot_be_written_does_not_hide_that_the_change_is_stored(filled, top, baton):
    before = baton("log", "--json").json["commits"][0]["revision"]
    done = in_a_shell(top, "baton followup add x >/dev/full")
    assert done.returncode == 1
    assert b"what the command changed is stored: baton log shows it" in done.stderr
    assert baton("log", "--json").json["commits"][0]["revision"] == before + 1


def test_an_interruption_during_the_imports_is_one_line(top, tmp_path):
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = in_a_shell(top, f"PYTHONPATH={tmp_path} baton list")
    assert (done.returncode, done.stderr) == (130, b"baton: interrupted; no write is half done\n")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_output_is_utf_8_in_every_locale(baton, top, encoding):
    baton("loop", "add", "名前 → 🚀", "--expect", "é")
    for words in ("read", "boot", "status"):
        done = in_a_shell(top, f"PYTHONIOENCODING={encoding} baton {words}")
        assert done.returncode == 0
        done.stdout.decode()
    assert "名前 → 🚀" in in_a_shell(top, f"PYTHONIOENCODING={encoding} baton read").stdout.decode()


# --- colours


def test_nothing_is_coloured_outside_of_a_terminal(baton, filled):
    for words in (("log",), ("show",), ("diff", "1")):
        assert "\x1b" not in baton(*words).out


def test_texts_of_records_cannot_send_control_characters_to_a_terminal(baton, top):
    baton("loop", "add", "evil \x1b[31m\nred", "--expect", "x\x07")
    for words in (("log",), ("show",), ("boot",), ("status",)):
        assert "\x1b" not in baton(*words).out
    assert json.loads(baton("read").out)["baton"]["open_loops"][0]["action"] == "evil \x1b[31m\nred"
