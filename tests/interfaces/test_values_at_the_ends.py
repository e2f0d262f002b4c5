"""Records whose scalars are all at one end of what their fields allow: every verb works, in every interface and zone.

All kinds and fields, commands, verbs, routes and pages are found and called automatically, including new ones.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from urllib.parse import quote

import click
import httpx2
import pytest
from command_tree import RUN_ON, all_commands, arguments, placeholder
from default_run import slow_after
from extremes import ENDS, End, id_of, states
from verb_drivers import DRIVERS
from world import NOW, begin, later, workspace

from baton_git.core import times
from baton_git.core.kinds import KINDS, find_kind
from baton_git.core.state import State
from baton_git.core.verb import Verb
from baton_git.git.store import Repository, Store
from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.hook.command import main
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site
from baton_git.namespace.revision import Revision
from baton_git.verbs.table import all_verbs

BUG = "a bug in baton itself"
NAMESPACE = "ends"
FINE = "the healthy follow-up"
DISPLACED = re.compile(r"^… and \d+ more follow-ups: baton read$", re.MULTILINE)
"""The line of a brief that has no space left for follow-ups."""
EAST, WEST = "Etc/GMT-14", "Etc/GMT+12"
"""14 hours east and 12 hours west of UTC. POSIX has the signs the other way round."""
ZONES = (WEST, "America/Los_Angeles", "UTC", "Europe/Berlin", "Asia/Tokyo", EAST)

CASES = [
    pytest.param(
        zone,
        end,
        id=f"{zone}-{end}",
        marks=() if (zone, end) == (EAST, "last") else pytest.mark.slow,
    )
    for end in ENDS
    for zone in (ZONES if end in ("first", "last") else (WEST, EAST))
]
"""Every end in the two zones where times overflow; the two whole times in all zones."""


def _add_all(new: State, tip: Revision) -> State:
    return State(tip.state.source, {**tip.state.edits, **new.edits})


@pytest.fixture
def ends(top: Path, zone: str, end: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the ref of a namespace with every kind at one end, in a local time zone."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    monkeypatch.chdir(top)
    return plant(top, ENDS[end])


def plant(top: Path, end: End) -> Path:
    """Create a namespace with every kind at one end, and a healthy follow-up; return its ref."""
    with Store(Repository.open(top)) as store:
        ws = workspace(store, namespace=NAMESPACE)
        begin(ws.branch)
        for state in states(end):
            ws.update("plant", NOW, partial(_add_all, state))
        functions = all_verbs()
        add = functions["followup add"]
        add.run(ws, later(minutes=1), add.parse({"item": FINE, "id": "FU-fine", "priority": "escalated"}, now=NOW))
    return top / ".git" / "refs" / "heads" / "baton" / NAMESPACE


def reset(ref: Path, tip: bytes) -> None:
    """Take back the changes of earlier calls, as far as a ref can."""
    kept = ref.parents[2] / "baton-kept" / "heads" / "baton" / ref.name
    for path in (ref, kept):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tip)


# --- verbs, in every interface


def kinds_for(verb: Verb[Any, Any]) -> list[str]:
    """Return the kinds whose records a verb can name."""
    if "kind" in verb.input_model.model_fields:
        return list(KINDS)
    kind = find_kind(verb.name.partition(" ")[0])
    return [kind or {"resolve": "conflict", "session": "snapshot"}.get(verb.name.partition(" ")[0], "follow_up")]


def calls_of(verb: Verb[Any, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the fields of calls that reach the records of every kind that the verb can name."""
    fields = verb.input_model.model_fields
    for kind in kinds_for(verb):
        known = {
            **dict.fromkeys(("id", "into", "by"), id_of(kind)), "kind": kind, "agent": "end",
            "session": id_of("handover"), "fields": {}, "baton": {"session_id": "s2"}, "a": "~1", "revision": "~0",
        }  # fmt: skip
        yield {
            name: known[name] if name in known else plain_value(name, field.annotation, field.examples, folder)
            for name, field in fields.items()
            if field.is_required() or name in ("kind", "session", "agent", *verb.path_fields)
        }


def plain_value(name: str, annotation: Any, examples: Any, folder: Path) -> Any:
    if annotation is Path:
        return str(folder / f"{name}.json")
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    return examples[0] if examples else "x"


@pytest.mark.parametrize("interface", slow_after(2, ["library", "http", "mcp", "command"]))
@pytest.mark.parametrize(("zone", "end"), CASES)
def test_no_verb_fails_at_a_value_at_the_end(baton: Any, top: Path, ends: Path, tmp_path: Path, interface: str) -> None:
    tip = ends.read_bytes()
    reached = 0
    with DRIVERS[interface](top, NAMESPACE, None, baton) as driver:
        for verb in all_verbs().values():
            if verb.name in ("session stop",):
                continue
            for fields in calls_of(verb, tmp_path):
                if not driver.has(verb, fields):
                    continue
                reset(ends, tip)  # without the changes of earlier calls
                answer = driver.call(verb, fields)
                assert BUG not in answer.words, (verb.name, fields, answer)
                assert answer.error not in ("bug",), (verb.name, fields, answer)
                reached += answer.data is not None
    assert reached > 15


# --- commands as text


def word_for(parameter: click.Parameter, kind: str, folder: Path) -> list[str]:
    """Return the words for a parameter of a command that is about records of a kind."""
    known = {"ID": id_of(kind), "SESSION": id_of("handover"), "AGENT": "end", "REV": "~0", "A": "~1", "B": "~0"}
    if isinstance(parameter.type, click.Choice):
        return [str(parameter.type.choices[0])]
    if isinstance(parameter.type, click.IntRange | click.FloatRange):
        return [str(int(parameter.type.min or 1))]
    if isinstance(parameter.type, click.Path) or "FILE" in (parameter.metavar or ""):
        return [str(folder / "given.json")]
    return [known.get(placeholder(parameter), "x")]


def command_lines(folder: Path) -> Iterator[list[str]]:
    """Yield every command, for every kind that it can name."""
    for words, command in sorted(all_commands().items()):
        if isinstance(command, click.Group) or words in RUN_ON:
            continue
        kind = find_kind(words[0]) or "follow_up"
        yield [*words, *arguments(command, partial(word_for, kind=kind, folder=folder))]
    for kind in KINDS:
        yield ["show", f"{kind}/{id_of(kind)}"]
        yield from (["list", kind, *more] for more in ([], ["--archived"], ["--sort", "newest"]))
    yield ["list", "--sort", "urgent"]


def is_told(brief: str, end: str) -> bool:
    """Whether a brief tells of the healthy follow-up; long texts of other records leave only its count space."""
    return FINE in brief or (end == "long" and DISPLACED.search(brief) is not None)


@pytest.mark.parametrize(("zone", "end"), CASES)
def test_no_command_fails_at_a_value_at_the_end(baton: Any, ends: Path, tmp_path: Path, end: str) -> None:
    tip = ends.read_bytes()
    (tmp_path / "given.json").write_text(json.dumps({"session_id": "s2"}))
    for given in command_lines(tmp_path):
        reset(ends, tip)
        done = baton(*given, code=None, env={"BATON_NAMESPACE": NAMESPACE})
        assert done.code != 70, (given, done)
    reset(ends, tip)
    for given in (["list"], ["ready"], ["recall", FINE]):
        assert FINE in baton(*given, env={"BATON_NAMESPACE": NAMESPACE}).out, given
    assert is_told(baton("boot", "--no-sync", "--no-verify", env={"BATON_NAMESPACE": NAMESPACE}).out, end)


# --- pages and hooks


def page_addresses() -> list[str]:
    """Return the pages of the namespace, and those of the records of every kind, live and archived."""
    pages = ["board", "timeline", "lineage", "handed", "conflicts", "review", "quarantine", "commit/~0", "compare?a=0"]
    pages += [f"session?id={id_of('session')}", f"recall?q={quote(FINE)}", f"graduate?id={id_of('pattern')}"]
    for kind in KINDS:
        for archived in ("", "1"):
            pages.append(f"records?kind={kind}&archived={archived}")
            pages.append(f"record?kind={kind}&id={quote(id_of(kind), safe='')}&archived={archived}")
    return ["/", f"/search?q={quote(FINE)}", *(f"/n/{NAMESPACE}/{page}" for page in pages)]


def read_pages(top: Path) -> dict[str, tuple[int, str]]:
    site = Site(CommonOptions(str(top), NAMESPACE, None, None))

    async def ask() -> dict[str, tuple[int, str]]:
        transport = httpx2.ASGITransport(application(site))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answers = {path: await client.get(path) for path in page_addresses()}
        return {path: (answer.status_code, answer.text) for path, answer in answers.items()}

    try:
        return asyncio.run(ask())
    finally:
        site.close()


@pytest.fixture
def start_session(top: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return a function that returns what the hook of a starting session tells the agent."""
    event = {"hook_event_name": "SessionStart", "session_id": "s9", "transcript_path": "/nowhere", "cwd": str(top),
             "source": "startup"}  # fmt: skip

    def call() -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(event).encode())))
        monkeypatch.chdir("/")
        capfd.readouterr()
        assert main(["--agent", "claude"]) == 0
        monkeypatch.chdir(top)
        text = capfd.readouterr().out
        assert text, (top / ".git/baton/agents.log").read_text()
        return json.loads(text)["hookSpecificOutput"]["additionalContext"]

    return call


@pytest.mark.parametrize(("zone", "end"), CASES)
@pytest.mark.usefixtures("ends")
def test_no_page_and_no_hook_fails_at_a_value_at_the_end(
    git: Any, top: Path, end: str, start_session: Callable[[], str]
) -> None:
    git(top, "config", "baton.namespace", NAMESPACE)
    answers = read_pages(top)
    assert {path: status for path, (status, _) in answers.items() if status not in (200, 404)} == {}
    assert FINE in answers[f"/n/{NAMESPACE}/board"][1]
    conflicts = answers[f"/n/{NAMESPACE}/conflicts"][1]
    assert conflicts.count('<li class="card">') == 2
    assert "cannot be shown" not in conflicts
    assert is_told(start_session(), end)


# --- the times of commits

COMMIT_TIMES = (
    "-62135596800 +0000",
    "1 -9999",
    "253402300799 -1200",
    "253402300800 +1400",
    "18446744073709551615 +9999",
)


@pytest.mark.slow
@pytest.mark.parametrize("zone", [EAST, WEST])
def test_no_command_and_no_page_fails_at_the_time_of_a_commit(
    baton: Any, git: Any, top: Path, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git writes such times if a clock is wrong, or if another program makes the commit."""
    monkeypatch.setenv("TZ", zone)
    monkeypatch.setenv("BATON_NAMESPACE", NAMESPACE)
    time.tzset()
    baton("init")
    for number, moment in enumerate(COMMIT_TIMES):
        baton("followup", "add", f"{FINE} {number}", "--id", f"FU-{number}")
        tip = git(top, "rev-parse", f"baton/{NAMESPACE}")
        tree = git(top, "rev-parse", f"{tip}^{{tree}}")
        text = f"tree {tree}\nparent {tip}\nauthor A <a@x> {moment}\ncommitter A <a@x> {moment}\n\nby hand\n"
        commit = git(top, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", text=text)
        git(top, "update-ref", f"refs/heads/baton/{NAMESPACE}", commit)
    for words in (
        "status", "list", "ready", "log", "log --ops", "show", "show ~1", "show FU-1", "validate", "dashboard",
        "diff ~3", "boot --no-sync --no-verify", "recall healthy", "log --since yesterday",
        "doctor clock", "undo --dry-run",
    ):  # fmt: skip
        assert baton(*words.split(), code=None).code not in (1, 70) or words == "undo --dry-run", words
    for words in ("log --since 0001-01-01", "log --until 9999-12-31"):
        assert baton(*words.split()).out.count("FU-") == baton("log").out.count("FU-") > 0
    for words in ("list --since 0001-01-01", "diff 9999-12-31", "validate --at 9999-12-31", "read --at 9999-12-31"):
        assert "not a date" not in baton(*words.split(), code=None).err
    pages = read_pages(top)
    assert [path for path, (status, _) in pages.items() if status >= 500] == []
    assert f"{FINE} 4" in pages[f"/n/{NAMESPACE}/board"][1]


# --- a record that cannot be shown

UNSHOWABLE = End("2031-05-05T05:05:05Z", 2, 0.5, True, 0)


def break_ages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every description of the age of `UNSHOWABLE` fail, as those of the ends of the calendar once did."""
    convert = times.to_local

    def fail(moment: datetime) -> datetime:
        if moment.year == 2031:
            raise OverflowError("date value out of range")
        return convert(moment)

    monkeypatch.setattr(times, "to_local", fail)


def test_a_record_that_cannot_be_shown_takes_no_other_away(
    baton: Any, git: Any, top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_session: Callable[[], str]
) -> None:
    ref = plant(top, UNSHOWABLE)
    tip = ref.read_bytes()
    (tmp_path / "given.json").write_text(json.dumps({"session_id": "s2"}))
    break_ages(monkeypatch)
    monkeypatch.setenv("BATON_NAMESPACE", NAMESPACE)
    failed = []
    for given in command_lines(tmp_path):
        reset(ref, tip)
        done = baton(*given, code=None)
        failed += [(given, done.err)] if done.code == 70 else []
    assert failed == []
    reset(ref, tip)
    for given in (["list"], ["ready"], ["boot", "--no-sync", "--no-verify"], ["recall", FINE]):
        assert FINE in baton(*given).out, given
    assert "cannot be shown: a bug in baton itself: OverflowError" in baton("list", "open_loop").out
    assert "2031-05-05" in baton("show", f"open_loop/{id_of('open_loop')}").out
    line = f"open_loops/{id_of('open_loop')}2.toml: cannot be shown"
    assert line in baton("boot", "--no-sync", "--no-verify").out
    git(top, "config", "baton.namespace", NAMESPACE)
    told = start_session()
    assert FINE in told
    assert "cannot be shown" in told
    pages = read_pages(top)
    for page in ("board", "lineage", "handed", "records?kind=follow_up&archived="):
        status, text = pages[f"/n/{NAMESPACE}/{page}"]
        assert status == 200, page
        assert "cannot be shown" in text or "records" in page, page
    assert FINE in pages[f"/n/{NAMESPACE}/board"][1]
    alone = ("record?", "session?", "graduate?")  # pages about that one record
    assert [
        path for path, (status, _) in pages.items() if status >= 500 and not any(map(path.__contains__, alone))
    ] == []
