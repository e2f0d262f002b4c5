"""`baton pattern`: record, propose, graduate, dismiss."""

from __future__ import annotations

import click

from baton_git.core.lifecycle import Confirmed
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.cli.app import SIGN, App, command, flat, group
from baton_git.interfaces.cli.printing import ask
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.patterns import dismiss_pattern, graduate_pattern, propose_rule, record_pattern


@command("record", short_help="Something went wrong again.")
@click.argument("what")
@click.option("--context", default="", metavar="TEXT", help="What was going on.")
@click.option("--rule", metavar="TEXT", help="The rule that would prevent it.")
@click.option("--id", "id_", metavar="ID", help="An id of your own; a known one counts that pattern.")
def record(app: App, what: str, context: str, rule: str | None, id_: str | None) -> None:
    """Something went wrong: count it, or note it for the first time. WHAT is words, or the id of a pattern.

    \b
    baton pattern record "Assumed Docker without reading compose" --context "deploying X"
    """
    with app.workspace() as ws:
        app.made(record_pattern(ws, app.now, what=what, context=context, rule=rule, id_=id_))


@command("propose", short_help="Propose the rule that a pattern would become.")
@click.argument("id_", metavar="ID")
@click.option("--rule", required=True, metavar="TEXT", help="The rule.")
def propose(app: App, id_: str, rule: str) -> None:
    """Propose the rule that a pattern would become, whatever its count.

    \b
    baton pattern propose PAT-9d2k1m --rule "Read compose.yaml before touching a container"
    """
    with app.workspace() as ws:
        app.made(propose_rule(ws, app.now, id_, rule))


@command("graduate", short_help="Make a rule of a pattern; a person must confirm it.")
@click.argument("id_", metavar="ID")
@click.option("--rule", metavar="TEXT", help="The rule, in place of the proposed one.")
@SIGN
def graduate(app: App, id_: str, rule: str | None, sign: bool) -> None:
    """Make a rule of a pattern. Only a person can: the id must be typed at a terminal where no agent acts, or the
    commit signed with a key (git config baton.signingKey) that needs a touch or a passphrase.

    \b
    baton pattern graduate PAT-9d2k1m
    baton pattern graduate PAT-9d2k1m --sign
    """
    with app.workspace() as ws:
        work = app.signing_by_person(ws) if sign else ws
        confirmed = _confirmed(app, ws, id_, rule, sign=sign)
        app.made(graduate_pattern(work, app.now, id_, confirmed, rule=rule))


def _confirmed(app: App, ws: Workspace, id_: str, rule: str | None, *, sign: bool) -> Confirmed | None:
    """A person's word, typed at a terminal or about to be signed; None where there is no terminal, or the word is
    another one."""
    pattern = ws.branch.read().state.find(Pattern, id_)
    text = rule or pattern.proposed_rule
    if pattern.status != "rule_candidate" or not text or not (sign or app.can_ask_person()):
        return None
    app.say(flat(f"{pattern.id}: {pattern.what}"))
    app.say(flat(f"seen {pattern.count} times, {pattern.first_seen} to {pattern.last_seen}"))
    app.say("", f"It would become the rule: {flat(text)}", "")
    if sign:
        return Confirmed(app.person, "signature", pattern=pattern.id, rule=text, what=pattern.what)
    typed = ask(f"Type {flat(pattern.id)} to confirm")
    if typed.strip() != pattern.id:
        return None
    return Confirmed(app.person, "terminal", pattern=pattern.id, rule=text, what=pattern.what)


@command("dismiss", short_help="It is no pattern after all.")
@click.argument("id_", metavar="ID")
def dismiss(app: App, id_: str) -> None:
    """It is no pattern after all: it stays, counts, and never becomes a rule.

    \b
    baton pattern dismiss PAT-9d2k1m
    """
    with app.workspace() as ws:
        app.made(dismiss_pattern(ws, app.now, id_))


COMMANDS = {
    "pattern": group(
        "pattern", "Patterns: what keeps going wrong, on its way to a rule.", [record, propose, graduate, dismiss]
    )
}
