"""Checks of the records: unreadable files, unvouched claims, rows left over by imports, and impossible times."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import islice
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.errors import NotAllowed
from baton_git.core.names import Oid
from baton_git.core.output import count_noun
from baton_git.core.state import Entry, State, Unreadable
from baton_git.core.times import iso, shift
from baton_git.git.store import TreeEntry
from baton_git.git.store.stored_views import find_stored_path
from baton_git.namespace.commit_log import RESTORES, LogEntry
from baton_git.namespace.import_quarantine import ImportQuarantine, list_quarantines
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.silent_reverts import find_recent_reverts
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.examination import Diagnostic, Examination, Repair, ok
from baton_git.verbs.records.ready import describe_revert, make_return_command
from baton_git.verbs.revisions.history import files_at
from baton_git.verbs.upkeep.validation import MODE, ValidatedFile, validate_branch

NAMED = 5
"""Maximum number of files or claims that are named; the others are only counted."""
LOOKED_BACK = 500
"""Number of newest revisions that are searched for a readable version of a file, and whose times are compared."""
SKEW = timedelta(minutes=5)
"""Tolerated difference between the clocks of two machines."""


# --- records that cannot be read


def check_records(examination: Examination) -> Iterator[Diagnostic]:
    """Find files of the branch that are not readable records. The repair restores their last readable versions.

    Readable records whose files have another mode than 100644 are found, too; a person must correct them.
    """
    ws = examination.ws
    files = list(validate_branch(ws))
    odd = [file for file in files if file.faults and file.faults[0].path == MODE]
    faulty = [file for file in files if file.faults and file.faults[0].path != MODE]
    readable = _find_readable(ws, [file.path for file in faulty])
    repair = _restore(examination, readable) if readable else None
    for file in faulty[:NAMED]:
        yield _describe_file(ws, file, readable.get(file.path), repair)
    if len(faulty) > NAMED:
        text = f"{count_noun(len(faulty) - NAMED, 'more file')} cannot be read"
        is_repairable = any(file.path in readable for file in faulty[NAMED:])
        yield Diagnostic("error", text, advice="baton validate", repair=repair if is_repairable else None)
    if odd:
        yield _describe_modes(ws, odd)
    if not faulty:
        yield ok(f"{count_noun(len(files), 'file')}, all can be read")


def _describe_modes(ws: Workspace, odd: list[ValidatedFile]) -> Diagnostic:
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    named = ", ".join(file.path for file in odd[:NAMED])
    ref, paths = shlex.quote(ws.branch.ref), shlex.join(_path_for_git(ws, file.path) for file in odd[:NAMED])
    return Diagnostic(
        "warning", f"{count_noun(len(odd), 'record file')} with another mode than 100644: {named}{more}",
        "chmod and git commit in a work tree of the branch, or another program; a merge may drop such a mode",
        f"git worktree add --detach ../modes {ref} && git -C ../modes update-index --chmod=-x {paths} && "
        "git -C ../modes commit --no-verify -m 'Correct the modes of files' && "
        f"git update-ref {ref} $(git -C ../modes rev-parse HEAD HEAD~1) && git worktree remove --force ../modes",
    )  # fmt: skip


def _describe_file(
    ws: Workspace, file: ValidatedFile, readable: ReadableVersion | None, repair: Repair | None
) -> Diagnostic:
    fault = str(file.faults[0])
    if readable is not None:
        path = _path_for_git(ws, file.path, readable.commit)
        advice = f"git show {readable.commit[:10]}:{path}"
    else:
        branch = ws.branch.ref.removeprefix("refs/heads/")
        path = _path_for_git(ws, file.path)
        advice, repair = f"git log -p {branch} -- {path} shows its changes; correct it by hand", None
    return Diagnostic(
        "error", f"{file.path}: {fault}", "it was edited by hand, or written by another program or a newer baton",
        advice, repair,
    )  # fmt: skip


def _path_for_git(ws: Workspace, path: str, commit: Oid | None = None) -> str:
    """Return the path that the file of a record has for git in a commit, by default in the newest one."""
    tip = commit or ws.branch.tip()
    return path if tip is None else find_stored_path(ws.branch.store.folder(ws.branch.store.commit(tip).tree), path)


class ReadableVersion(NamedTuple):
    """The newest earlier version of a file that is a readable record."""

    commit: Oid
    item: TreeEntry
    record: Entry


def _find_readable(ws: Workspace, paths: list[str]) -> dict[str, ReadableVersion]:
    """Return the newest readable version of each file that has one, by path."""
    wanted = {path: key for path in paths if (key := layout.key_at(path)) is not None}
    seen: set[tuple[str, Oid]] = set()
    readable: dict[str, ReadableVersion] = {}
    for entry in islice(ws.branch.history(first_parent=True), LOOKED_BACK):
        left = [path for path in wanted if path not in readable]
        if not left:
            break
        for path, item in files_at(ws, entry.tree, left).items():
            if (path, item.oid) not in seen:
                seen.add((path, item.oid))
                record = layout.decode(wanted[path], path, ws.branch.store.read(item.oid))
                if not isinstance(record, Unreadable):
                    readable[path] = ReadableVersion(entry.commit, item, record)
    return readable


def _restore(examination: Examination, readable: Mapping[str, ReadableVersion]) -> Repair:
    """Return the repair that restores these versions in one commit. The records keep the provenance that they had."""
    ws, paths = examination.ws, list(readable)
    about = f"Restore the last readable versions of {len(readable)} files"
    if len(readable) == 1:
        about = f"Restore {paths[0]} as at {readable[paths[0]].commit[:10]}"
    broken = _list_files(ws, ws.branch.read(), paths)
    sources = dict.fromkeys(version.commit for version in readable.values())

    def change(tip: Revision) -> ProposedState:
        if _list_files(ws, tip, paths) != broken:
            raise NotAllowed(
                "an unreadable file was changed meanwhile; nothing was restored",
                hint="to see the present problems: baton doctor records",
            )
        entries = {
            key: version.record for path, version in readable.items() if (key := layout.key_at(path)) is not None
        }
        return ProposedState(
            State(tip.state.source, {**tip.state.edits, **entries}),
            files={path: version.item for path, version in readable.items()}, note=about,
            trailers=tuple((RESTORES, commit) for commit in sources),
        )  # fmt: skip

    def run() -> str:
        ws.update("doctor", examination.now, change)
        return "to take it back: baton undo"

    return Repair(about, run)


def _list_files(ws: Workspace, revision: Revision, paths: list[str]) -> dict[str, TreeEntry]:
    return files_at(ws, revision.tree, paths) if revision.tree is not None else {}


# --- provenance


def check_provenance(examination: Examination) -> Iterator[Diagnostic]:
    """Find claims of records that nobody on this machine vouches for, and recent commits made by hand that restore an
    older revision."""
    ws = examination.ws
    revision = ws.branch.read()
    claims = list(ws.judgement(revision).find_unvouched(revision.state))
    for claim in claims[:NAMED]:
        yield Diagnostic(
            "warning", f"{claim.key}: {claim.text}", "it came from elsewhere, or was edited by hand",
            "check it, then confirm it (baton pattern graduate, baton decision confirm), or "
            "baton rollback",
        )  # fmt: skip
    if len(claims) > NAMED:
        yield Diagnostic("warning", count_noun(len(claims) - NAMED, "more open claim"), advice="baton validate")
    for revert in find_recent_reverts(ws.branch, revision.commit):
        yield Diagnostic(
            "error", describe_revert(ws, revert),
            "git commit -a does that in a work tree that has the branch checked out",
            f"{make_return_command(ws, revert)}, if nobody intended it",
        )  # fmt: skip


# --- clock


def check_clock(examination: Examination) -> Iterator[Diagnostic]:
    """Find commits dated in the future, and commits dated before their parents, by machine."""
    entries = list(islice(examination.ws.branch.history(), LOOKED_BACK))
    by_id = {entry.commit: entry for entry in entries}
    ahead: dict[str, list[LogEntry]] = defaultdict(list)
    behind: dict[str, list[LogEntry]] = defaultdict(list)
    for entry in entries:
        parents = [by_id[parent] for parent in entry.parents if parent in by_id]
        if entry.time > examination.now + SKEW:
            ahead[_machine(entry)].append(entry)
        elif any(shift(entry.time, SKEW) < parent.time <= examination.now + SKEW for parent in parents):
            behind[_machine(entry)].append(entry)
    for machine, late in ahead.items():
        newest = max(late, key=lambda entry: entry.time)
        commits = count_noun(len(late), "commit")
        yield Diagnostic(
            "warning", f"from the future: {commits} of {machine}, the newest from {iso(newest.time)}",
            f"the clock of {machine} was fast, or the clock here is slow",
            "set the clocks; due dates are evaluated wrongly until then",
        )  # fmt: skip
    for machine, early in behind.items():
        yield Diagnostic(
            "warning", f"older than their parents: {count_noun(len(early), 'commit')} of {machine}",
            f"the clock of {machine} was slow when it wrote {early[0].commit[:10]}", f"set the clock of {machine}",
        )  # fmt: skip


def _machine(entry: LogEntry) -> str:
    return entry.machine or "an unnamed machine"


# --- the check for rows that an import could not convert


def check_imports(examination: Examination) -> Iterator[Diagnostic]:
    """Find rows in the quarantine of imports, by namespace."""
    for namespace in list_quarantines(examination.common_dir):
        rows = ImportQuarantine(examination.common_dir, namespace).rows()
        if rows:
            first = f"{rows[0].path}: {rows[0].why}" if rows[0].path else rows[0].why
            yield Diagnostic(
                "warning", f"{namespace}: {count_noun(len(rows), 'imported row')} did not fit: {first}",
                "the source has values that a record cannot hold",
                f"baton import quarantine -n {namespace}; then correct the source and import it again, or discard them",
            )  # fmt: skip
