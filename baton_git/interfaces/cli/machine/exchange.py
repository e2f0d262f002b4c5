"""Command-line additions to `import` and `export`: options, and messages about each imported or exported item."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import click

from baton_git.core.names import Namespace
from baton_git.core.output import count_noun
from baton_git.git.files.atomic_files import show_path
from baton_git.interfaces.cli.app import SIGN, App, flat
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.machine.imported_rules import confirm_rules
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.sessions.handover import RUN_HELP, format_handover_file, tell_run_conflicts
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.results import CHECKED_OUT
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.recordings import ExportedRecordings, ImportedRecording, ImportedRecordings
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.exchange import ExportedHandover, ExportHandover, ImportedHandover, export_handover
from baton_git.systems.kairos.handovers import find_run
from baton_git.systems.paif.exchange import ExportedPaif, ImportedPaif
from baton_git.systems.session_baton.exchange import (
    ExportedBatons,
    ImportBatons,
    ImportedBatons,
    import_session_baton,
)
from baton_git.verbs.upkeep.quarantine import DiscardedRows, QuarantineList


def _describe_refusal(name: str, why: str) -> str:
    return f"baton: {why}" if why.startswith(name) else f"baton: {name}: {why}"


# --- PAIF


def _fill_agent(app: App, values: Values) -> Values:
    """Add the agent of --agent; BATON_AGENT is ignored."""
    return {**values, "agent": app.settings.agent} if app.settings.options.agent else values


def _render_paif_import(app: App, result: ImportedPaif) -> int | None:
    app.answer(result.as_data(), "")
    if result.new:
        app.tell_change(result)
    app.say(f"{result.new} new, {result.known} already imported, {len(result.refused)} refused")
    app.say(*(f"baton: {flat(refusal.where)}: {flat(refusal.why)}" for refusal in result.refused))
    return FAILED if result.refused else None


def _render_paif_export(app: App, result: ExportedPaif) -> None:
    app.answer(result.as_data(), "")
    number = len(result.files)
    app.say(f"{count_noun(number, 'checkpoint')} in {flat(result.path)}")


# --- KAIROS


def _render_handover_import(app: App, result: ImportedHandover) -> None:
    app.answer(result.as_data(), flat(result.SESSION_ID))
    app.tell_change(result)
    tell_run_conflicts(app, result.SESSION_ID, result.contested)


def _fill_run(app: App, values: Values) -> Values:
    """Add the run that --session names."""
    return {**values, "session": app.settings.run}


def _export_handover(app: App, ws: Workspace, verb_input: ExportHandover, values: Values) -> ExportedHandover | None:
    """Write the handover file; for `-`, print it and return None."""
    if str(verb_input.file) != "-":
        return export_handover(ws, app.now, verb_input)
    run = find_run(ws, verb_input.session, verb_input.at).handover
    text = kairos.dumps(run.as_data()).decode()
    app.answer(ExportedHandover(SESSION_ID=run.id, path="-", text=text).as_data(), format_handover_file(run))
    return None


def _render_handover_export(app: App, result: ExportedHandover) -> None:
    app.answer(result.as_data(), "")
    app.say(f"wrote handover {flat(result.SESSION_ID)} to {flat(result.path)}")


# --- ECC


def _render_recordings_import(app: App, result: ImportedRecordings) -> int | None:
    app.answer(result.as_data(), "")
    for recording in result.recordings:
        app.say(flat(_describe_recording(recording)))
        app.say(*(flat(f"redacted: {value.kind} in {value.record}, {value.path}") for value in recording.redactions))
    places = dict.fromkeys(recording.checked_out_at for recording in result.recordings)
    app.say(*(flat(CHECKED_OUT.format(place)) for place in places if place is not None))
    return None if all(recording.ok for recording in result.recordings) else FAILED


def _describe_recording(recording: ImportedRecording) -> str:
    if recording.why:
        return _describe_refusal(recording.id, recording.why)
    if recording.revision is None:
        return f"{recording.id}: nothing new"
    news = (
        f"{recording.added} new"
        if recording.added
        else "nothing new, but the file's latest snapshot is the session's current one again"
    )
    return f"{recording.id}: {news} (revision {recording.revision})"


def _render_recordings_export(app: App, result: ExportedRecordings) -> int | None:
    app.answer(result.as_data(), "")
    app.say(*(f"wrote {flat(show_path(path))}" for path in result.files))
    app.say(*(flat(f"baton: {refusal.id} was not written: {refusal.why}") for refusal in result.refused))
    app.say(*dict.fromkeys(f"       {flat(refusal.hint)}" for refusal in result.refused if refusal.hint))
    return FAILED if result.refused else None


# --- session-baton


def _import_batons(app: App, ws: Workspace, verb_input: ImportBatons, values: Values) -> None:
    """Import batons, print the result for each, and ask a person to confirm the rules that a person approved there."""
    result = import_session_baton(ws, app.now, verb_input)
    status = _render_batons_import(app, result)
    for baton in result.batons:
        if baton.approved:
            branch = replace(ws.branch, namespace=Namespace(baton.namespace))
            confirm_rules(app, replace(ws, branch=branch), baton.approved, sign=bool(values.get("sign")))
    click.get_current_context().exit(status or 0)


def _render_batons_import(app: App, result: ImportedBatons) -> int | None:
    app.answer(result.as_data(), "")
    for baton in result.batons:
        if baton.result is None:
            app.say(_describe_refusal(baton.where, baton.why))
            continue
        app.say(f"{baton.namespace}:")
        filled = Counter(field.path.rpartition(".")[2] for field in baton.result.filled)
        if filled:
            counts = [f"{name} in {count_noun(number, 'record')}" for name, number in filled.items()]
            app.say(f"filled in: {', '.join(counts)}")
        app.say(*(flat(f"invalid: {row.path}: {row.why}") for row in baton.quarantined))
        if baton.quarantined:
            app.say(f"quarantined: {len(baton.quarantined)}; see: baton import quarantine -n {flat(baton.namespace)}")
        app.tell_write(baton.result.written)
        app.say(*(f"not accepted: {held.id} {held.field} {held.claimed!r} ({held.why})" for held in baton.result.held))
    return None if all(baton.result is not None for baton in result.batons) else FAILED


def _render_batons_export(app: App, result: ExportedBatons) -> None:
    app.answer(result.as_data(), "")
    app.say(f"wrote {', '.join(result.namespaces)} to {result.path}")


def _render_quarantine(app: App, result: QuarantineList) -> None:
    columns = [
        Column("id", lambda row: row.id, Role.ID),
        Column("namespace", lambda row: row.namespace),
        Column("source", lambda row: row.source),
        Column("why", lambda row: f"{row.path or '(all of it)'}: {row.why}", wraps=True),
    ]
    app.answer(result.as_data(), render_table(result.rows, columns))
    if not result.rows:
        app.say("the quarantine is empty")


def _render_discarded(app: App, result: DiscardedRows) -> None:
    app.answer(result.as_data(), "\n".join(result.discarded))


ADDITIONS = {
    "import session-baton": Addition(
        [SIGN], run=_import_batons, progress="importing",
        about="Rules that a person approved in session-baton can be confirmed at a terminal, all at once.",
    ),
    "import quarantine": Addition(render=_render_quarantine),
    "import discard": Addition(render=_render_discarded),
    "export session-baton": Addition(render=_render_batons_export),
    "import paif": Addition(
        about="With --agent, only the checkpoints of that agent are imported.", fill=_fill_agent, progress="importing",
        agent_help="Import only the checkpoints of this agent.", render=_render_paif_import,
    ),
    "export paif": Addition(
        about="With --agent, only the checkpoints of that agent are exported. If FOLDER has the agent's name, they are "
        "written to FOLDER itself.",
        fill=_fill_agent, agent_help="Export only the checkpoints of this agent.", render=_render_paif_export,
    ),
    "import kairos": Addition(render=_render_handover_import),
    "export kairos": Addition(
        about="--session names the run. If FILE is -, the run is printed.", fill=_fill_run, run=_export_handover,
        acting=lambda app: app.for_protocol_run, session_help=RUN_HELP, render=_render_handover_export,
    ),
    "import ecc": Addition(progress="importing", render=_render_recordings_import),
    "export ecc": Addition(render=_render_recordings_export),
}  # fmt: skip
