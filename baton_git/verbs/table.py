"""The table of verbs: the module in which each verb is declared."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any

from baton_git.core.verb import Verb, VerbFunction

MODULES = {
    "init": "verbs.sessions.sessions",
    "boot": "verbs.sessions.sessions",
    "wrap": "verbs.sessions.session_end",
    "status": "verbs.upkeep.namespace_status",
    "read": "systems.session_baton.documents",
    "write": "systems.session_baton.written_documents",
    "ready": "verbs.records.ready",
    "list": "verbs.records.listing",
    "record": "verbs.records.details",
    "edit": "verbs.records.editing",
    "reopen": "verbs.records.editing",
    "forget": "verbs.records.editing",
    "namespace": "verbs.upkeep.namespaces",
    "namespace rename": "verbs.upkeep.namespace_moves",
    "namespace delete": "verbs.upkeep.namespace_moves",
    "namespace move": "verbs.upkeep.prefix_move",
    "namespace restore": "verbs.upkeep.namespace_moves",
    "namespace accept": "verbs.upkeep.namespace_moves",
    "validate": "verbs.upkeep.validation",
    "schema": "verbs.upkeep.schemas",
    "gc": "verbs.upkeep.packing",
    "doctor": "verbs.doctor.doctor",
    "log": "verbs.revisions.log",
    "show": "verbs.revisions.log",
    "diff": "verbs.revisions.log",
    "recall": "verbs.revisions.recall",
    "rollback": "verbs.revisions.undo",
    "undo": "verbs.revisions.undo",
    "redo": "verbs.revisions.undo",
    "loop": "verbs.work_items.loops",
    "followup": "verbs.work_items.followups",
    "decision confirm": "verbs.work_items.confirming",
    "pattern": "verbs.work_items.patterns",
    "decision": "verbs.work_items.decisions",
    "verify": "verbs.verification.checks",
    "checkpoint": "systems.paif.checkpoint_verbs",
    "restore": "systems.paif.checkpoint_verbs",
    "sessions": "systems.paif.checkpoint_verbs",
    "handoff": "systems.gobby.verbs",
    "handoff extract": "systems.gobby.verbs",
    "mine": "verbs.sessions.mining",
    "session": "systems.ecc.session_verbs",
    "session list": "systems.ecc.session_verbs",
    "session lineage": "verbs.revisions.log",
    "session stop": "systems.gobby.verbs",
    "identity": "systems.paif.identity_verbs",
    "handover": "systems.kairos.handover_verbs",
    "conflicts": "verbs.sharing.conflicts",
    "resolve": "verbs.sharing.conflicts",
    "review": "verbs.sharing.review",
    "sync": "verbs.sharing.sync",
    "outgoing": "verbs.sharing.outgoing",
    "remote": "verbs.sharing.remotes",
    "todo": "verbs.work_items.todos",
    "import session-baton": "systems.session_baton.exchange",
    "export session-baton": "systems.session_baton.exchange",
    "import quarantine": "verbs.upkeep.quarantine",
    "import discard": "verbs.upkeep.quarantine",
    "import paif": "systems.paif.exchange",
    "export paif": "systems.paif.exchange",
    "import kairos": "systems.kairos.handover_verbs",
    "export kairos": "systems.kairos.handover_verbs",
    "import ecc": "systems.ecc.recordings",
    "export ecc": "systems.ecc.recordings",
}
"""The modules that declare verbs, by the first word of the verbs' names.

A verb that is not declared in the module of its first word has an entry with its full name. A new verb in a listed
module needs no entry.
"""


def verbs_of(word: str) -> dict[str, Verb[Any, Any]]:
    """Return by name the verbs whose first word is `word`. Only their modules are imported."""
    modules = dict.fromkeys(module for name, module in MODULES.items() if name.partition(" ")[0] == word)
    declared = {name: verb for module in modules for name, verb in _declared_in(module).items()}
    return {name: verb for name, verb in declared.items() if name.partition(" ")[0] == word}


@cache
def all_verbs() -> dict[str, Verb[Any, Any]]:
    """Return all verbs by name, in the order of the table."""
    return {name: verb for module in dict.fromkeys(MODULES.values()) for name, verb in _declared_in(module).items()}


@cache
def functions() -> dict[str, VerbFunction[Any, Any]]:
    """Return the functions of all verbs by function name. They are the methods of the library."""
    modules = dict.fromkeys(MODULES.values())
    return {function.__name__: function for module in modules for function in _functions_in(module)}


@cache
def find_function(name: str) -> VerbFunction[Any, Any] | None:
    """Return the verb whose function has this name; None if there is none.

    The modules whose verbs have a word of the name are tried first: to import all of them takes half a second.
    """
    words = name.split("_")  # `list_todos` is in the module of `todo`
    likely = (module for verb, module in MODULES.items() if any(word.startswith(verb.split()[0]) for word in words))
    found = (each for module in dict.fromkeys((*likely, *MODULES.values())) for each in _functions_in(module))
    return next((function for function in found if function.__name__ == name), None)


def _declared_in(module: str) -> dict[str, Verb[Any, Any]]:
    return {function.verb.name: function.verb for function in _functions_in(module)}


def _functions_in(module: str) -> Iterator[VerbFunction[Any, Any]]:
    """Yield the verbs that a module declares, without those that it imports."""
    loaded = importlib.import_module(f"baton_git.{module}")
    for value in vars(loaded).values():
        if isinstance(value, VerbFunction) and value.verb.run.__module__ == loaded.__name__:
            yield value
