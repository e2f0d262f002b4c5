"""`baton handoff`: extract the facts of a session from its transcript, and show those that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from baton_git.agents.extraction import Extraction, Options, extract
from baton_git.agents.extraction.options import MOST
from baton_git.agents.extraction.repository import with_git
from baton_git.agents.registry import AGENTS
from baton_git.core.records.base import parse
from baton_git.interfaces.cli.app import App, command, flat, group
from baton_git.interfaces.cli.handoff_text import FORMATS
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.interfaces.context.handoff import handoff_options
from baton_git.interfaces.context.settings import outside_git
from baton_git.interfaces.context.transcripts import newest_transcript
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.handoff_verbs import HandoffList, ShownHandoff
from baton_git.systems.gobby.handoffs import gather, id_of, keep
from baton_git.systems.gobby.record import Facts, Handoff
from baton_git.verbs.table import verbs_of

LATEST = "latest"
AUTO = "auto"
OTHER_NAMES = {"gobby_tasks": "active_task", "todowrite": "todo_state"}
"""What the settings call facts, and what they are called in the answer."""
FACTS: dict[str, Any] = {
    "initial_goal": "", "active_task": None, "todo_state": [], "files_modified": [], "git_commits": [],
    "git_status": None, "recent_activity": [], "key_decisions": [],
}  # fmt: skip
NAMES = (*FACTS, *OTHER_NAMES)


@command("extract", short_help="Extract the facts of a session from its transcript.")
@click.argument("transcript", metavar="TRANSCRIPT|latest")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="Only the last N turns, the goal apart.  [all]")
@click.option("--activity", type=click.IntRange(0, MOST), metavar="N", help="So many of the last calls.  [5]")
@click.option("--max-commits", type=click.IntRange(0, MOST), metavar="N", help="At most N commits, the newest.  [20]")
@click.option("--diff-stats", is_flag=True, help="With what each commit changed.")
@click.option("--format", "format_", type=click.Choice(list(FORMATS)), help="Sections, or sentences.  [structured]")
@click.option("--only", multiple=True, type=click.Choice(NAMES), metavar="FACT", help="Only this fact; repeatable.")
@click.option("--no", "without", multiple=True, type=click.Choice(NAMES), metavar="FACT", help="Not it; repeatable.")
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file with autonomous_handoff, instead of the work tree's and the user's.",
)
@click.option("--memory", type=click.Path(path_type=Path), metavar="FILE", help="Go on where this file says; keep it.")
@click.option("--folder", type=click.Path(path_type=Path), metavar="DIR", help="Where the session works, if untold.")
@click.option("--keep", "is_kept", is_flag=True, help="Keep them as the session's handoff.")
def extract_command(
    app: App,
    transcript: str,
    only: tuple[str, ...],
    without: tuple[str, ...],
    config: Path | None,
    memory: Path | None,
    folder: Path | None,
    is_kept: bool,
    **chosen: Any,
) -> None:
    """Extract the facts of a session that a compaction loses: goal, task, todos, commits, files, last calls.

    --agent says whose transcript it is (claude, codex, gemini; auto finds out). FACT is one of initial_goal,
    active_task, todo_state, files_modified, git_commits, git_status, recent_activity, key_decisions.

    Settings come from .baton/config.yaml of the work tree and ~/.config/baton/config.yaml. What the latter switches off
    stays off, and of two numbers the smaller counts: a project can only restrict, or choose the format.

    Nothing is written without --keep or --memory.

    \b
    baton handoff extract latest
    baton handoff extract ~/.claude/projects/-repo/1f0c.jsonl --json | jq .git_commits
    baton handoff extract latest --agent codex --only initial_goal --only todo_state --format narrative
    """
    agent = _agent(app)
    options = _options(handoff_options(app, config), chosen)
    path, agent, told = newest_transcript(agent) if transcript == LATEST else (Path(transcript), agent, None)
    place = Path(folder or told or "").absolute() if folder or told else None
    wanted = _choose_facts(only, without)
    options = _without_git(options, wanted)
    if is_kept:
        with _acting(app).workspace() as ws:
            found = gather(
                ws, app.now, path, agent, memory=memory, options=options, folder=place, session=app.settings.session
            )
            found = _only(found, wanted)
            _tell(app, found, _keep_facts(app, ws, found))
    else:
        read = extract(path, agent, memory=memory, options=options, folder=place)
        _tell(app, _only(with_git(read, app.now, outside_git(), place), wanted), {})


def _acting(app: App) -> App:
    """The call without `auto`, which is no agent that acts."""
    options = app.settings.options
    if options.agent != AUTO:
        return app
    return replace(app, settings=replace(app.settings, options=options._replace(agent=None)))


def _agent(app: App) -> str | None:
    """Whose transcript it is; None when that must be found out."""
    named = app.settings.options.agent
    if named not in (None, AUTO, *AGENTS):
        raise click.UsageError(f"--agent {named!r}: give {', '.join(sorted(AGENTS))} or {AUTO}")
    return None if named == AUTO else named


def _options(options: Options, chosen: dict[str, Any]) -> Options:
    """What the settings say, with what the call says over it."""
    git = {"max_commits": chosen["max_commits"], "include_diff_stats": chosen["diff_stats"] or None}
    said = {
        "max_turns_to_analyze": chosen["max_turns"],
        "include_recent_activity": chosen["activity"],
        "injection_format": chosen["format_"],
    }
    new = {name: value for name, value in said.items() if value is not None}
    more = {name: value for name, value in git.items() if value is not None}
    return options.replace(**new, **({"git": {**options.git.as_data(), **more}} if more else {}))


def _choose_facts(only: Sequence[str], without: Sequence[str]) -> set[str]:
    chosen = {OTHER_NAMES.get(name, name) for name in only} or set(FACTS)
    return chosen - {OTHER_NAMES.get(name, name) for name in without}


def _without_git(options: Options, wanted: set[str]) -> Options:
    """The options so that git is not asked for what nobody wants."""
    off = {name: False for name in ("git_status", "git_commits") if name not in wanted}
    return options.replace(extract={**options.extract.as_data(), **off}) if off else options


def _only(found: Extraction, wanted: set[str]) -> Extraction:
    left_out = set(FACTS) - wanted
    facts = {name: value for name, value in found.facts.items() if name not in left_out}
    facts["sources"] = {name: value for name, value in facts["sources"].items() if name not in left_out}
    return replace(found, facts=facts)


def _keep_facts(app: App, ws: Workspace, found: Extraction) -> dict[str, Any]:
    written = keep(ws, app.now, found, trigger="command")
    if written is None:
        app.say(f"the handoff {flat(id_of(found))} is as it was")
        return {"id": id_of(found), "changed": False}
    app.tell_write(written)
    version = written.revision
    return {"id": id_of(found), "changed": True, "commit": version.commit, "revision": version.number}


def _tell(app: App, found: Extraction, kept: dict[str, Any]) -> None:
    facts = found.facts
    data = {
        **FACTS, **facts, "session": found.session, "agent": found.agent, "cwd": found.cwd, "branch": found.branch,
        "started": found.started, "compactions": found.compactions, "unread": found.unread,
        "format": found.options.injection_format, **({"kept": kept} if kept else {}),
    }  # fmt: skip
    app.answer(data, FORMATS[found.options.injection_format](facts))


def _fill_latest(app: App, values: Values) -> Values:
    """Leave the id out where the latest is meant."""
    return {name: value for name, value in values.items() if (name, value) != ("id", LATEST)}


def _render_shown(app: App, result: ShownHandoff, values: Values) -> None:
    app.answer(result.handoff, _page(parse(Handoff, result.handoff), values["format_"]))


def _render_list(app: App, result: HandoffList) -> None:
    lines = [flat(f"{handoff.extracted_at}  {handoff.id}  {handoff.goal}")[:200] for handoff in result.handoffs]
    app.answer(result.as_data(), "\n".join(lines))


def _page(found: Handoff, format_: str) -> str:
    said = (("at", found.extracted_at), ("by", found.trigger), ("on", found.machine), ("in", found.worktree))
    head = f"{flat(found.id)}  " + ", ".join(f"{word} {flat(text)}" for word, text in said if text)
    facts = Facts.model_dump(found.facts, mode="json")
    notes = f"### Notes\n{found.notes}" if found.notes else ""
    return "\n\n".join(part for part in (head, FORMATS[format_](facts), notes) if part)


FORMAT = click.option(
    "--format", "format_", type=click.Choice(list(FORMATS)), default="structured", help="Sections, or sentences."
)
ADDITIONS = {
    "handoff show": Addition([FORMAT], fill=_fill_latest, render_chosen=_render_shown),
    "handoff list": Addition(render=_render_list),
}
DERIVED = [verb_command(verb, ADDITIONS[name]) for name, verb in verbs_of("handoff").items()]
COMMANDS = {
    "handoff": group(
        "handoff", "Facts of a session, from its transcript, for the next one.", [extract_command, *DERIVED]
    )
}
