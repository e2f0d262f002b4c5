"""Edits of any settings file: uninstalling restores the file byte for byte, and installing changes nothing else."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from baton_git.agents.settings.entries import MARK, WantedHooks, install_entries, remove_entries
from baton_git.agents.settings.json_text import parse

BLANKS = st.text(alphabet=" \t\n", max_size=4) | st.sampled_from(["", " ", "\n", "\n  ", "\r\n", "\r\n    "])
NOTES = st.sampled_from(["", "", "/* a, b */", " // c: {\n", "// d\r\n  "])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
EVENTS = ("SessionStart", "Stop", "SessionEnd")


def group(command: str, event: str) -> dict[str, Any]:
    handler = {"type": "command", "command": f"{command} {MARK}", "timeout": 10}
    return {**({"matcher": "startup|resume"} if event == "SessionStart" else {}), "hooks": [handler]}


def wanted(command: str, *, env: bool, comments: bool) -> WantedHooks:
    groups = {event: group(command, event) for event in EVENTS}
    return WantedHooks(groups, {"TODO_TOOLS": "1"} if env else {}, comments)


@st.composite
def laid_out(draw: st.DrawFn, data: Any, gaps: st.SearchStrategy[str]) -> str:
    """Return the data as JSON, with white space (and comments) wherever JSON allows it."""

    def gap() -> str:
        return draw(gaps)

    def text_of(value: Any) -> str:
        if isinstance(value, dict):
            inner = ",".join(f"{gap()}{json.dumps(k)}{gap()}:{gap()}{text_of(v)}{gap()}" for k, v in value.items())
            return "{" + (inner or gap()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(f"{gap()}{text_of(one)}{gap()}" for one in value) or gap()) + "]"
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    return gap() + text_of(data) + gap()


def foreign_handlers() -> st.SearchStrategy[Any]:
    handler = st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["x", "# baton-git x"])})
    return st.fixed_dictionaries({"hooks": st.lists(handler, max_size=2)}, optional={"matcher": st.text(max_size=3)})


def settings_data() -> st.SearchStrategy[dict[str, Any]]:
    hooks = st.dictionaries(
        st.sampled_from([*EVENTS, "PreToolUse"]), st.lists(foreign_handlers(), max_size=2), max_size=3
    )
    env = st.dictionaries(st.sampled_from(["A", "B"]), st.text(max_size=3), max_size=2)
    known = st.fixed_dictionaries({}, optional={"hooks": hooks, "env": env})
    others = st.dictionaries(
        st.text(max_size=4).filter(lambda name: name not in ("hooks", "env")),
        st.recursive(
            SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
        ),
        max_size=3,
    )
    return st.builds(lambda a, b, first: {**a, **b} if first else {**b, **a}, known, others, st.booleans())


@st.composite
def texts(draw: st.DrawFn, *, comments: bool) -> str:
    data = draw(settings_data())
    how = draw(st.sampled_from(["tidy", "tabs", "tight", "line", "wild"]))
    if how == "wild":
        gaps = st.builds(lambda a, b, c: a + b + c, BLANKS, NOTES, BLANKS) if comments else BLANKS
        return draw(laid_out(data, gaps))
    indent: Any = {"tidy": draw(st.sampled_from([1, 2, 4])), "tabs": "\t"}.get(how)
    text = json.dumps(data, indent=indent, separators=(",", ":") if how == "tight" else None, ensure_ascii=False)
    text += draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def without_ours(data: Any) -> Any:
    """Return the parsed content without our entries and without empty containers."""
    hooks = {
        event: [one for one in groups if not any(h["command"].endswith(MARK) for h in one["hooks"])]
        for event, groups in data.get("hooks", {}).items()
    }
    env = {name: value for name, value in data.get("env", {}).items() if name != "TODO_TOOLS"}
    rest = {**data, "hooks": {event: groups for event, groups in hooks.items() if groups}, "env": env}
    return {name: value for name, value in rest.items() if value or name not in ("hooks", "env")}


@settings(max_examples=25, deadline=None)
@given(text=texts(comments=True) | texts(comments=False), env=st.booleans())
@example('{"hooks": {}}', True)
@example('{\n  "hooks": {\n  }\n}\n', True)
@example('{\n  "hooks": {"Stop": []},\n  "env": {\n  }\n}', True)
@example("{}", True)
@example('{"a":1} // x', False)
@example('{\n"a":[]/* b */}/* c */\n', False)
def test_uninstalling_removes_all_edits_byte_for_byte(text, env):
    want = wanted("exec baton", env=env, comments=True)
    installed = install_entries(text, want)
    assert remove_entries(installed, comments=True, env=want.env) == text
    assert install_entries(installed, want) == installed
    before, after = (parse(one, comments=True).data for one in (text, installed))
    assert without_ours(after) == without_ours(before)
    assert all(after["hooks"][event][-1] == one for event, one in want.groups.items())


@settings(max_examples=25, deadline=None)
@given(text=texts(comments=True), env=st.booleans())
def test_an_upgrade_changes_only_our_own_entries_and_is_removed_byte_for_byte(text, env):
    older, newer = (wanted(command, env=env, comments=True) for command in ("exec old", "exec new"))
    installed = install_entries(install_entries(text, older), newer)
    assert installed == install_entries(text, newer)
    assert remove_entries(installed, comments=True, env=newer.env) == text
