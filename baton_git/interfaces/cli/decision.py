"""`baton decision`: add, monitor, supersede."""

from __future__ import annotations

import click

from baton_git.interfaces.cli.app import SIGN, App, command, flat, group
from baton_git.interfaces.cli.printing import ask
from baton_git.verbs.decisions import Vouched, add_decision, monitor_decision, supersede_decision

TIERS = click.Choice(["raw_source", "llm_derived", "human_confirmed"])


@command("add", short_help="Note a decision and its reasons.")
@click.argument("what")
@click.option("--why", required=True, metavar="TEXT", help="The reason.")
@click.option("--evidence", multiple=True, metavar="TEXT", help="What speaks for it; repeatable.")
@click.option("--rejected", multiple=True, metavar="TEXT", help="What was turned down; repeatable.")
@click.option("--tier", type=TIERS, help="Who vouches for it; a person is asked.  [llm_derived]")
@SIGN
@click.option("--id", "id_", metavar="ID", help="An id of your own, for example DEC-042, to go on with your numbering.")
def add(
    app: App,
    what: str,
    why: str,
    evidence: tuple[str, ...],
    rejected: tuple[str, ...],
    tier: str | None,
    sign: bool,
    id_: str | None,
) -> None:
    """Note a decision and its reasons. With --tier human_confirmed a person must say so at a terminal where no agent
    acts, or sign it with a key that needs a touch or a passphrase.

    \b
    baton decision add "Always use --update-env-vars" --why "--set-env-vars clears the others" \\
        --evidence "incident of 2026-06-12" --rejected "a wrapper script"
    """
    if sign and tier != "human_confirmed":
        raise click.UsageError("--sign goes with --tier human_confirmed")
    by = Vouched(app.person, "signature") if sign else None
    vouched = by or (_vouched(app, what, why, evidence, rejected) if tier == "human_confirmed" else None)
    with app.workspace() as ws:
        app.made(
            add_decision(
                app.signing_by_person(ws) if sign else ws,
                app.now,
                what=what,
                why=why,
                evidence=evidence,
                rejected=rejected,
                tier=tier,
                id_=id_,
                vouched=vouched,
            )
        )


def _vouched(app: App, what: str, why: str, evidence: tuple[str, ...], rejected: tuple[str, ...]) -> Vouched | None:
    """A person's word, typed at a terminal; None where there is no terminal, or the word is another one."""
    if not app.can_ask_person():
        return None
    app.say(f"Decision: {flat(what)}", f"Reason: {flat(why)}")
    app.say(*(f"Evidence: {flat(one)}" for one in evidence), *(f"Rejected: {flat(one)}" for one in rejected), "")
    typed = ask("Type yes to confirm that you vouch for it")
    return Vouched(app.person, "terminal") if typed.strip().lower() == "yes" else None


@command("monitor", short_help="It holds, but is being watched.")
@click.argument("id_", metavar="ID")
def monitor(app: App, id_: str) -> None:
    """It holds, but is being watched.

    \b
    baton decision monitor DEC-042
    """
    with app.workspace() as ws:
        app.made(monitor_decision(ws, app.now, id_))


@command("supersede", short_help="Another decision takes its place.")
@click.argument("id_", metavar="ID")
@click.option("--by", required=True, metavar="ID", help="The decision that takes its place.")
def supersede(app: App, id_: str, by: str) -> None:
    """Another decision takes its place. One that a model derived cannot supersede another of that kind.

    \b
    baton decision supersede DEC-042 --by DEC-051
    """
    with app.workspace() as ws:
        app.made(supersede_decision(ws, app.now, id_, by))


COMMANDS = {"decision": group("decision", "Decisions and their reasons.", [add, monitor, supersede])}
