"""Describe the outcome of a `baton cache` command, as data for --json and as messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.diff import RecordChange, describe_change
from baton_git.core.errors import shorten
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import App
from baton_git.systems.session_baton.caching import CacheConflict, CacheOutcome


def describe_outcome(outcome: CacheOutcome) -> dict[str, Any]:
    """Return the outcome of a write as data for --json: the server's answer, and the state of the cache."""
    sync_state = outcome.entry.sync_state
    seen = sync_state.seen if outcome.conflict is None else outcome.conflict.theirs
    data: dict[str, Any] = {
        "ok": outcome.entry.status == "synced", "namespace": sync_state.namespace, "status": outcome.entry.status,
        "updated_at": seen.updated_at if seen else None, "revision": seen.revision if seen else None,
    }  # fmt: skip
    if outcome.conflict is not None:
        data["conflict"] = _describe_conflict(outcome.conflict)
    if outcome.answer is not None and outcome.answer.archived:
        data["archived"] = list(outcome.answer.archived)
    if outcome.contested:
        data["contested"] = [
            {"kind": key.kind, "id": key.id, **conflict.as_data()} for key, conflict in outcome.contested
        ]
    if outcome.kept:
        data["kept"] = [{"file": file.name, "why": file.why} for file in outcome.kept]
    return data


def _describe_conflict(conflict: CacheConflict) -> dict[str, Any]:
    return {
        "ours": conflict.ours, "theirs": conflict.theirs.baton, "differ": list(conflict.compared.sections),
        "here": [change.as_data() for change in conflict.compared.here],
        "there": [change.as_data() for change in conflict.compared.there],
    }  # fmt: skip


def tell_details(app: App, outcome: CacheOutcome) -> None:
    """Print the conflict, if any, and notes on archived records, merged conflicts, and files of the cache."""
    if outcome.conflict is not None:
        app.say(*_conflict_lines(outcome.conflict))
    if outcome.answer is not None and outcome.answer.archived:
        app.say(f"archived, because the document does not contain them: {flat(', '.join(outcome.answer.archived))}")
    for key, conflict in outcome.contested:
        field = f"{flat(key.id or key.kind)} {flat(conflict.field)}"
        app.say(f"merged: {field}: {_value(conflict.ours)} was chosen over {_value(conflict.theirs)}")
    for kept in dict.fromkeys(outcome.kept):
        app.say(f"kept: {kept.name} ({kept.why})")
    if not outcome.kept:
        app.say(*(f"baton: the cache: {file.name}: {file.why}" for file in outcome.entry.aside))
    if outcome.entry.rival is not None:
        name, rival = flat(outcome.entry.sync_state.namespace), flat(outcome.entry.rival)
        app.say(
            f"{name} is stored in .baton, which only baton reads, because {rival} has the same file name in the cache"
        )


def _conflict_lines(conflict: CacheConflict) -> Iterator[str]:
    name = flat(conflict.namespace)
    yield f"baton: conflict: the server has a newer document of {name}; yours was not sent, and waits in the cache"
    for side, changes in (("here", conflict.compared.here), ("server", conflict.compared.there)):
        yield from (f"       {side}: {words}" for change in changes for words in _change_words(change))
    if not conflict.compared.here and not conflict.compared.there:
        yield f"       they differ in: {flat(', '.join(conflict.compared.sections))}"
    yield f"       {suggest_resolving(conflict.namespace)}"


def _change_words(change: RecordChange) -> Iterator[str]:
    """Yield a record's change on one line, with the values of its fields."""
    fields = [f"{flat(field.field)} {_value(field.before)} → {_value(field.after)}" for field in change.fields]
    head = flat(describe_change(change)) or change.kind
    yield f"{head}: {'; '.join(fields)}" if change.action == "changed" and fields else head


def _value(side: tuple[Any, ...]) -> str:
    return (
        shorten(side[0])
        if side and isinstance(side[0], str)
        else json.dumps(side[0], indent=None)[:60]
        if side
        else "nothing"
    )


def suggest_resolving(namespace: str) -> str:
    return f"to resolve it: baton cache send {flat(namespace)} --merge (or --ours, --theirs)"
