"""Command-line additions to the verbs of decisions: ask a person to vouch for a decision."""

from __future__ import annotations

from dataclasses import replace

import click

from baton_git.core.brief_sections import record_line
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import SIGN, App, fill_about
from baton_git.interfaces.cli.printing import ask
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.caller import Vouched
from baton_git.namespace.results import Changed
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.confirming import ConfirmedRecords, ConfirmRecords, confirm_records, list_named
from baton_git.verbs.work_items.decisions import NewDecision, add_decision


def _ask_person(app: App, ws: Workspace, verb_input: NewDecision, values: Values) -> Workspace:
    """Return the workspace with the confirmation of a person who vouches for a decision with the tier human_confirmed.

    The person confirms at a terminal or by a signature. If nobody does, the workspace contains no confirmation.

    Raises:
        UsageError: `--sign` is given with another tier.
    """
    if values.get("sign"):
        if verb_input.tier != "human_confirmed":
            raise click.UsageError("--sign requires --tier human_confirmed")
        return replace(app.sign_as_person(ws), confirmed=Vouched(app.person, "signature"))
    if verb_input.tier != "human_confirmed":
        return ws
    ws = replace(ws, confirmed=None)
    if not app.can_ask_person():
        return ws
    app.say(f"Decision: {flat(verb_input.what)}", f"Reason: {flat(verb_input.why)}")
    app.say(*(f"Evidence: {flat(text)}" for text in verb_input.evidence))
    app.say(*(f"Rejected: {flat(text)}" for text in verb_input.rejected), "")
    typed = ask("Type yes to confirm that you vouch for it")
    return replace(ws, confirmed=Vouched(app.person, "terminal")) if typed.strip().lower() == "yes" else ws


def _add_with_person(app: App, ws: Workspace, verb_input: NewDecision, values: Values) -> Changed:
    return add_decision(_ask_person(app, ws, verb_input, values), app.now, verb_input)


def _confirm_with_person(app: App, ws: Workspace, verb_input: ConfirmRecords, values: Values) -> ConfirmedRecords:
    """Show the records, and confirm them for the person who types the command, who answers yes, or who signs."""
    tip = ws.branch.read()
    if values.get("sign"):
        ws = replace(app.sign_as_person(ws), confirmed=Vouched(app.person, "signature"))
    elif not verb_input.all and app.is_person_typing():
        ws = replace(ws, confirmed=Vouched(app.person, "typed"))
    elif app.can_ask_person():
        records = (tip.state.entry(key) for key in list_named(ws, tip, verb_input))
        lines = (record_line(record, app.now, ws.shown_judgement(tip)) for record in records)
        app.say(*(flat(line) for line in lines if line is not None), "")
        typed = ask("Type yes to confirm that you vouch for this")
        ws = replace(ws, confirmed=Vouched(app.person, "terminal")) if typed.strip().lower() == "yes" else ws
    return confirm_records(ws, app.now, verb_input)


ADDITIONS = {
    "decision confirm": Addition([SIGN], run=_confirm_with_person),
    "decision add": Addition([SIGN], fill=fill_about, run=_add_with_person),
    "decision anchor": Addition(fill=fill_about),
}
