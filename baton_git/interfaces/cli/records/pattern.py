"""Command-line additions to the verbs of patterns: ask a person to confirm a rule."""

from __future__ import annotations

from dataclasses import replace

from baton_git.core.lifecycle import Confirmed
from baton_git.core.output import count_times, flat
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.cli.app import SIGN, App, fill_about
from baton_git.interfaces.cli.printing import ask
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.results import Changed
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.work_items.patterns import GraduatePattern, graduate_pattern


def _graduate_with_person(app: App, ws: Workspace, verb_input: GraduatePattern, values: Values) -> Changed:
    """Ask a person to confirm the rule, by typing the pattern's id at a terminal or by a signature, and create it."""
    sign = bool(values.get("sign"))
    work = app.sign_as_person(ws) if sign else ws
    confirmed = _ask_for_id(app, ws, verb_input.id, verb_input.rule, sign=sign)
    return graduate_pattern(replace(work, confirmed=confirmed), app.now, verb_input)


def _ask_for_id(app: App, ws: Workspace, id_: str, rule: str | None, *, sign: bool) -> Confirmed | None:
    """Show the rule, and return a person's confirmation: by signature if `sign`, else by typing the pattern's id.

    Return None if there is no terminal, if another text is typed, or if the pattern cannot become a rule.
    """
    pattern = ws.branch.read().state.find(Pattern, id_)
    text = rule or pattern.proposed_rule
    if pattern.status != "rule_candidate" or not text or not (sign or app.can_ask_person()):
        return None
    app.say(flat(f"{pattern.id}: {pattern.what}"))
    app.say(flat(f"seen {count_times(pattern.count)}, {pattern.first_seen} to {pattern.last_seen}"))
    app.say("", f"The rule would be: {flat(text)}", "")
    if sign:
        return Confirmed(app.person, "signature", pattern=pattern.id, rule=text, what=pattern.what)
    typed = ask(f"Type {flat(pattern.id)} to confirm")
    if typed.strip() != pattern.id:
        return None
    return Confirmed(app.person, "terminal", pattern=pattern.id, rule=text, what=pattern.what)


ADDITIONS = {
    "pattern record": Addition(fill=fill_about),
    "pattern anchor": Addition(fill=fill_about),
    "pattern graduate": Addition([SIGN], run=_graduate_with_person),
}
