"""`baton init`, `boot`, `wrap`, `status`: a session from end to end."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import click

from baton_git.core.brief import BUDGET, MIN_BUDGET, age
from baton_git.core.times import iso
from baton_git.interfaces.cli.app import CHECKED_OUT, SECONDS, App, baton_command, command, flat, read_text
from baton_git.interfaces.context.lifespan import checkpoint_session, restore_agent
from baton_git.interfaces.results import lifespan as answers
from baton_git.namespace.branch import Branch
from baton_git.namespace.remote_selection import format_commits
from baton_git.verbs.auto_sync import AT_START, at_end
from baton_git.verbs.sessions import CHECK_BUDGET, Status, boot, init, status, wrap


@command("init")
def init_command(app: App) -> None:
    """Make a namespace in this repository, and keep its name in the repository's git config (baton.namespace).

    It is a branch of its own, baton/NAME. Your files, index and other branches are not touched. The repository's git
    config also learns the merge driver, so that a plain git merge of that branch gives what baton sync gives.

    \b
    baton init
    baton init --namespace project:memory-hall
    """
    with app.workspace() as ws:
        version, fresh = init(ws, app.now)
        if not app.settings.is_own_store:  # kept, so that a folder that gets another name finds its state again
            config = app.settings.repository.config()
            config.set("baton.namespace", str(version.namespace))
            config.set("merge.baton.name", "records of baton")
            config.set("merge.baton.driver", f"{baton_command()} merge-driver %O %A %B %P")
    repository = app.settings.repository
    data = answers.initialised(version, ws.branch.ref, repository.common_dir, fresh=fresh)
    app.answer(data, f"{version.namespace}")
    app.say(f"{'made' if fresh else 'there is already'} {ws.branch.ref} in {repository.common_dir}")
    if app.settings.asked.namespace and not app.settings.is_own_store:
        app.say("commands in this repository use it from now on (git config baton.namespace)")
    if fresh:
        app.say("next: baton boot at the start of a session, baton wrap --context TEXT at its end")


@command("boot")
@click.option(
    "--budget", type=click.IntRange(MIN_BUDGET), default=BUDGET, show_default=True, help="Bytes of the brief."
)
@click.option("--no-verify", is_flag=True, help="Run no checks.")
@click.option("--check-budget", type=SECONDS, default=CHECK_BUDGET, show_default=True,
              help="Seconds that all checks together may take.")  # fmt: skip
@click.option("--no-sync", is_flag=True, help="Do not ask the remote what is new.")
@click.option(
    "--sync-budget", type=SECONDS, default=AT_START, show_default=True, help="Seconds that asking the remote may take."
)
def boot_command(
    app: App, budget: int, no_verify: bool, check_budget: float, no_sync: bool, sync_budget: float
) -> None:
    """Begin a session: take over what other machines sent, settle what is due, run the checks, archive what was
    verified, and print the brief.

    Nothing stops it: what is missing or broken is named in the brief. The session's name is remembered for
    this work tree until baton wrap; agents that run side by side set BATON_SESSION.

    \b
    baton boot
    baton boot --session 2026-06-17-003 --agent claude --budget 4000
    """
    app = app.lenient
    asked = app.settings.session or app.settings.hooked_session
    with app.workspace() as ws:
        if asked is None:
            ws = replace(ws, actor=replace(ws.actor, session=None))  # not one that was left here without an end
        ws, more = restore_agent(app, ws)
        seconds = 0 if no_verify else check_budget
        begun = boot(
            ws, app.now, budget=budget, check_seconds=seconds, sync_seconds=0 if no_sync else sync_budget,
            **more, problems=app.settings.problems or (),
        )  # fmt: skip
    app.current.set(begun.session)
    app.answer(answers.begun(begun), begun.brief.text)
    if begun.is_new:
        app.told_new(begun.version.namespace)


@command("wrap")
@click.option("--context", metavar="TEXT", help="Where the work stands, for the next session.")
@click.option("--file", "-f", "file", metavar="FILE", help="The same from a file; - reads standard input.")
@click.option("--summary", metavar="TEXT", help="What this session did, in a sentence.")
@click.option("--expected-revision", type=click.IntRange(0), help="Refuse unless this is still the newest revision.")
@click.option("--no-sync", is_flag=True, help="Do not send it to the remote.")
def wrap_command(
    app: App, context: str | None, file: str | None, summary: str | None, expected_revision: int | None, no_sync: bool
) -> None:
    """End a session: say where the work stands, and send it to the remote that this namespace is synced with.

    The text takes the place of the one the session began with. If another session wrote one meanwhile, both are kept.

    \b
    baton wrap --context "Deployed X; waiting for the cache to expire" --summary "fixed the deploy script"
    """
    if context is not None and file is not None:
        raise click.UsageError("give --context or --file, not both")
    text = read_text(file) if file is not None else context
    with app.workspace() as ws:
        session = ws.actor.session
        done = wrap(ws, app.now, context=text, summary=summary, expected_revision=expected_revision)
        saved = checkpoint_session(app.lenient, ws, summary, text)
        news = [] if no_sync else at_end(ws, app.now)
    if app.current.get() == session:
        app.current.set(None)
    data = {"session": session, "commit": done.revision.commit, "revision": done.revision.number, "news": list(news)}
    app.answer({**data, **({"checkpoint": saved[0]} if saved and saved[0] else {})}, "")
    app.told(done)
    app.say(*(flat(line) for line in saved[1:]))
    app.say(*(flat(line) for text in news for line in text.splitlines()))
    if session is None:
        app.say("no session was begun here (baton boot, --session or BATON_SESSION), so none was ended")


@command("status")
def status_command(app: App) -> None:
    """How many of what there are, who is at work, and what is wrong.

    \b
    baton status
    baton status --json
    """
    with app.workspace() as ws:
        found = status(ws)
        if found.version.commit is None:
            text = _nothing_here(app, ws.branch)
        else:
            text = _status_text(app, found, ws.branch.ref)
        app.answer(answers.stands(found, app.settings.repository.common_dir), text)


def _nothing_here(app: App, branch: Branch) -> str:
    """What to do in a repository without the namespace; a clone can begin with what its remote has."""
    end = "/" + branch.ref.removeprefix("refs/heads/")
    there = [ref for ref in branch.store.refs("refs/remotes/") if ref.endswith(end)]
    if there:
        return f"{branch.namespace}: nothing is here yet, but {there[0]} has it\nbegin with: baton boot"
    return f"{branch.namespace}: nothing recorded yet in {app.settings.repository.common_dir}\nbegin with: baton init"


def _status_text(app: App, found: Status, ref: str) -> str:
    version = found.version
    when = age(iso(version.time), app.now) if version.time and version.number else "nothing recorded yet"
    lines = [f"{version.namespace}  revision {version.number}, {when}  ({ref})"]
    for name, counts in found.counts.items():
        said = ", ".join(f"{count} {value.replace('_', ' ')}" for value, count in sorted(counts.items()))
        lines.append(f"  {name.replace('_', ' '):<18}{said or 'none'}")
    lines += [f"  {'at work':<18}{one}" for one in _working(found, app.now)]
    waits = [f"{format_commits(one.commits)} of {one.remote}" for one in found.waiting]
    lines += [f"  {'waiting':<18}{text} (baton sync says why, baton review shows what)" for text in waits]
    lines += [
        f"  {'pending':<18}{format_commits(number)} for {name} (baton sync)" for name, number in found.pending.items()
    ]
    lines += [f"  cannot be read: {one.path}: {one.why}" for one in found.damaged]
    lines += [f"  {one}" for one in found.problems]
    if found.checked_out_at:
        lines.append(f"  {CHECKED_OUT.format(found.checked_out_at)}")
    return "\n".join(lines)


def _working(found: Status, now: datetime) -> list[str]:
    """The sessions that began and did not end, the newest first."""
    newest = sorted(found.sessions, key=lambda one: one.started, reverse=True)
    lines = []
    for one in newest[:5]:
        whose = ", ".join(part for part in (one.agent, one.machine) if part)
        lines.append(f"{one.id}{f' ({flat(whose)})' if whose else ''}, began {age(one.started, now)}")
    more = [f"and {len(newest) - 5} more"] if len(newest) > 5 else []
    return [*lines, *more] or ["nobody"]


COMMANDS = {"init": init_command, "boot": boot_command, "wrap": wrap_command, "status": status_command}
