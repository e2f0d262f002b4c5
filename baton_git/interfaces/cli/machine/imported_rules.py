"""Ask a person to confirm, all at once, the rules that a person approved according to an imported document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton_git.core.errors import NeedsHuman
from baton_git.core.lifecycle import Confirmed, propose_when_due
from baton_git.core.output import flat
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.printing import ask
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.patterns import graduate_pattern


def confirm_rules(app: App, ws: Workspace, ids: Sequence[str], *, sign: bool) -> None:
    """Show the rules, and create them if a person confirms them.

    A person confirms by a signature, or by typing at a terminal where no agent acts.
    """
    rules = [(pattern, _rule_of(pattern)) for pattern in (ws.branch.read().state.find(Pattern, id_) for id_ in ids)]
    app.say("", "According to the document, a person approved these rules:")
    for pattern, rule in rules:
        app.say(flat(f"{pattern.id}: {pattern.what}"), flat(f"    the rule: {rule}"))
    if not sign and not _can_ask(app):
        app.say("they are candidates until a person confirms them at a terminal: baton pattern graduate ID")
        return
    if not sign and ask("Type yes to confirm all of them").strip() != "yes":
        app.say("they stay candidates; to confirm one later: baton pattern graduate ID")
        return
    work = app.sign_as_person(ws) if sign else ws
    for pattern, rule in rules:
        confirmed = Confirmed(app.person, "signature" if sign else "terminal", pattern.id, rule, pattern.what)
        app.tell_change(graduate_pattern(replace(work, confirmed=confirmed), app.now, id=pattern.id, rule=rule))


def _can_ask(app: App) -> bool:
    try:
        return app.can_ask_person()
    except NeedsHuman:  # an agent acts; the message says what a person can do
        return False


def _rule_of(pattern: Pattern) -> str:
    """Return the rule that a pattern would propose once it has occurred as often as its threshold."""
    due = propose_when_due(pattern.replace(status="observing", count=max(pattern.count, pattern.threshold)))
    return due.proposed_rule or ""
