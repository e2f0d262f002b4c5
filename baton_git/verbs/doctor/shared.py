"""Checks of sharing: whether remotes answer and are up to date, whether anybody can read them, and file permissions."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from baton_git.core.errors import AccessDenied, BatonError, RemoteError, Unreachable
from baton_git.core.names import Oid, is_lane_name
from baton_git.core.output import count_noun, one_line
from baton_git.git import child_process
from baton_git.git.files import durable_files
from baton_git.namespace.ingest.budget import SYNC
from baton_git.namespace.ingest.fetch import RejectedTips
from baton_git.namespace.purges import begins_midway, read_purged
from baton_git.namespace.remote_selection import (
    count_waiting_commits,
    find_remote_url,
    find_unsent_commits,
    select_remote,
)
from baton_git.namespace.sync.lanes import ABANDONED
from baton_git.namespace.sync.tracking_refs import (
    count_commits,
    lanes_of,
    list_known_remotes,
    track_lane,
    tracking_refs_of,
)
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.examination import Diagnostic, Examination, Repair, ok, read_log

ANSWER_SECONDS = 5.0
"""Seconds within which a remote must answer."""
NAMED = 5
"""Maximum number of paths that a finding names."""
FORGES = {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "git.sr.ht"}
"""Hosts that show a public repository over https, whatever address it was cloned from."""
_SCP = re.compile(r"(?:[^@/:]+@)?([\w.-]+):(?!//)(.+)")
_DENIED = re.compile(
    r"could not read (?:username|password)|authentication failed|prompts disabled|error: 40[134]|not found|denied",
    re.IGNORECASE,
)
"""git's messages if a login is needed; many hosts report a missing repository instead."""
NOBODY = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true", "GCM_INTERACTIVE": "never",
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent",
}  # fmt: skip
"""Environment variables that keep git from using any login."""


# --- remotes


def check_remotes(examination: Examination) -> Iterator[Diagnostic]:
    """Find remotes that do not answer, branches that differ from ours, and commits that wait for a review."""
    ws = examination.ws
    names = list_remotes(ws)
    if not names:
        yield ok("there is no remote: the state is on this machine only")
    for name in names:
        yield from _check_remote(examination, name)
    for waiting in count_waiting_commits(ws):
        verb = "waits" if waiting.commits == 1 else "wait"
        text = f"{count_noun(waiting.commits, 'commit')} of {waiting.remote} {verb} for a review"
        yield Diagnostic("warning", text, advice=f"baton review --remote {waiting.remote}")
    for unsent in find_unsent_commits(ws):
        if unsent.is_late(examination.now):
            yield Diagnostic("warning", unsent.describe(examination.now), advice=f"baton sync --remote {unsent.remote}")
    yield from read_log(examination, "background.log", "background processes")


def list_remotes(ws: Workspace) -> list[str]:
    """Return the configured remotes that this namespace is, or would be, synced with."""
    chosen = select_remote(ws)
    known = [
        name
        for name in list_known_remotes(ws.branch)
        if ws.remote_settings.remotes is None or name in ws.remote_settings.remotes
    ]
    return list(dict.fromkeys([*known, *([chosen] if chosen else [])]))


def _check_remote(examination: Examination, name: str) -> Iterator[Diagnostic]:
    from baton_git.git.remotes import open_remote  # slow to load, and rarely needed

    ws = examination.ws
    refs = tracking_refs_of(ws.branch, name)
    try:
        remote = open_remote(ws.branch.store.repository, name, ws.environment)
        pattern = f"{lanes_of(ws.branch)}*"
        tips = remote.tips({ws.branch.ref: refs.incoming, pattern: track_lane(pattern, name)}, seconds=ANSWER_SECONDS)
    except Unreachable as error:
        yield Diagnostic("unknown", f"{name} does not answer", str(error), error.hint)
        return
    except AccessDenied as error:
        yield Diagnostic("error", f"{name} refuses access", str(error), error.hint)
        return
    except RemoteError as error:
        yield Diagnostic("error", f"{name}: {error}", advice=error.hint)
        return
    theirs = tips.pop(ws.branch.ref, None)
    yield _compare(ws, name, theirs, ws.branch.store.tip(refs.seen), tips.values())
    yield from _check_lanes(examination, name, theirs, tips)


def _compare(
    ws: Workspace, name: str, theirs: Oid | None, seen: Oid | None, lanes: Collection[Oid]
) -> Diagnostic:  # fmt: skip
    """Compare our branch with that of a remote. What is in a lane there is sent, if lanes are on."""
    store, advice = ws.branch.store, f"baton sync --remote {name}"
    ours = ws.branch.tip()
    if theirs is None and seen is not None:
        settle = f"{advice} --settle merge pushes it again"
        return Diagnostic("error", f"{name} no longer has the branch", "somebody deleted it there", settle)
    if theirs is None:
        return ok(f"{name} answers; it does not have this namespace")
    if theirs == ours:
        return ok(f"{name} answers, and is up to date")
    if theirs in read_purged(store).commits:
        cause = "the history was rewritten here, by a purge or another rewrite that was accepted"
        is_cut = ours is not None and begins_midway(store, ours)
        settle = "theirs, then purge again, because older commits were not here" if is_cut else "ours"
        found = f"{name} still has commits that were removed here"
        return Diagnostic("error", found, cause, f"{advice} --settle {settle}")
    if not store.is_stored(theirs):
        return Diagnostic("warning", f"{name} has commits that were not fetched yet", advice=advice)
    if seen is not None and not store.is_ancestor(seen, theirs):
        return Diagnostic("error", f"the branch was rewritten on {name}", "somebody pushed with force", advice)
    in_lanes = [tip for tip in lanes if store.is_stored(tip)] if name in ws.remote_settings.lanes else []
    ahead, behind = count_commits(store, ours, theirs, *in_lanes), count_commits(store, theirs, ours)
    if not ahead and not behind:
        return ok(f"{name} answers, and has all commits of ours, some of them in a lane")
    counts = [
        f"lacks {count_noun(ahead, 'commit')} of ours" if ahead else "",
        f"is ahead by {count_noun(behind, 'commit')}" if behind else "",
    ]
    return Diagnostic("warning", f"{name} {' and '.join(filter(None, counts))}", advice=advice)


def _check_lanes(
    examination: Examination, name: str, theirs: Oid | None, lanes: Mapping[str, Oid]
) -> Iterator[Diagnostic]:  # fmt: skip
    """Find lanes on a remote that nothing takes into the branch, or that no sync can read."""
    ws, prefix, advice = examination.ws, lanes_of(examination.ws.branch), f"baton sync --remote {name}"
    store, is_on = ws.branch.store, name in ws.remote_settings.lanes
    forged = [ref for ref in lanes if not is_lane_name(ref.removeprefix(prefix))]
    if forged:
        shown = one_line(", ".join(forged[:NAMED]), 300)
        yield Diagnostic(
            "warning", f"{count_noun(len(forged), 'ref')} on {name} with names that no lane has: {shown}",
            "no sync reads them", f"git push {name} --delete REF, if nobody needs it",
        )  # fmt: skip
    for ref, why in _find_unreadable_lanes(ws, lanes):
        yield Diagnostic("warning", f"{ref} on {name} cannot be taken in: {why}", "syncs leave it out", advice)
    if theirs is None or not store.is_stored(theirs):
        return
    waiting, left = 0, 0
    for ref in lanes.keys() - forged:
        tip = lanes[ref]
        is_merged = store.is_stored(tip) and (tip == theirs or store.is_ancestor(tip, theirs))
        waiting += not is_merged
        left += is_merged and examination.now.timestamp() - store.commit(tip).time > ABANDONED
    if waiting and not is_on:
        setting = f"git config remote.{name}.batonLanes true; {advice}"
        text = f"{count_noun(waiting, 'lane')} on {name} with commits that the branch lacks"
        yield Diagnostic("warning", text, "this machine reads no lanes; another may merge them", setting)
    elif waiting:
        text = f"{count_noun(waiting, 'lane')} on {name} with commits that the branch does not have yet"
        yield Diagnostic("warning", text, "the next push to the branch merges them", advice)
    if left:
        text = f"{count_noun(left, 'lane')} on {name} whose commits the branch has had for more than a day"
        yield Diagnostic("warning", text, "the next push of a machine with lanes removes them", advice)


def _find_unreadable_lanes(ws: Workspace, lanes: Mapping[str, Oid]) -> Iterator[tuple[str, str]]:
    """Yield the lanes that were rejected at a fetch or are no namespace, with the reason."""
    rejected = RejectedTips.of(ws.branch.store.repository.common_dir)
    budget = SYNC.within(ws.remote_settings.limits)
    for ref, tip in sorted(lanes.items()):
        error: BatonError | None = rejected.get(tip, budget)
        if error is None and ws.branch.store.is_stored(tip):
            try:
                ws.branch.revision_at(tip)
            except BatonError as failed:
                error = failed
        if error is not None:
            yield ref, one_line(str(error), 300)


# --- privacy


def check_privacy(examination: Examination) -> Iterator[Diagnostic]:
    """Find remotes that anybody can read without a login."""
    ws = examination.ws
    for name in list_remotes(ws):
        address = public_address(find_remote_url(ws, name))
        if address is None:
            yield ok(f"{name} is a folder, or needs a login")
            continue
        is_open = _is_readable_by_all(ws, address)
        if is_open is None:
            yield Diagnostic(
                "unknown", f"{name}: no clear answer from {urlsplit(address).hostname} whether anybody can read it"
            )
        elif is_open:
            yield _describe_public(ws, name)
        else:
            yield ok(f"{name} needs a login")


def public_address(address: str) -> str | None:
    """Return the address at which anybody could read the repository if it is public. It contains no login.

    Returns:
        None for a folder, and for a host that serves nobody without a login.
    """
    parts = urlsplit(address)
    if parts.scheme in ("http", "https", "git"):
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    scp = _SCP.fullmatch(address)
    forge, path = (parts.hostname, parts.path) if parts.scheme == "ssh" else (scp[1], scp[2]) if scp else (None, "")
    return f"https://{forge}/{path.lstrip('/')}" if forge in FORGES else None


def _is_readable_by_all(ws: Workspace, address: str) -> bool | None:
    """Return whether git can read the repository without a login; None if that is unclear."""
    words = ["git", "-c", "credential.helper=", "-c", "core.askPass=", "ls-remote", "--heads", "--", address]
    done = child_process.run(words, {**ws.environment, **NOBODY}, Path("/"), ANSWER_SECONDS)
    if done is None:
        return None
    return True if done.code == 0 else False if _DENIED.search(done.err) else None


def _describe_public(ws: Workspace, name: str) -> Diagnostic:
    is_there = ws.branch.store.tip(tracking_refs_of(ws.branch, name).seen) is not None
    what = f"{ws.branch.namespace} is there" if is_there else f"baton sync would put {ws.branch.namespace} there"
    return Diagnostic(
        "warning", f"anybody can read {name}, and {what}", "the repository is public",
        "if that is not intended: add a private remote, and git config baton.remote NAME; git push "
        f"{name} --delete {ws.branch.ref.removeprefix('refs/heads/')} removes it there"
        if is_there
        else "if that is not intended: add a private remote, and git config baton.remote NAME",
    )  # fmt: skip


# --- permissions


def check_permissions(examination: Examination) -> Iterator[Diagnostic]:
    """Find private files that others can read, and paths of the repository with another owner or no write access."""
    open_to_others = sorted(_list_exposed(examination))
    if open_to_others:
        shown = ", ".join(map(str, open_to_others[:NAMED])) + (", …" if len(open_to_others) > NAMED else "")
        yield Diagnostic(
            "error", f"other users can read {shown}", "they were copied, or made with another umask",
            "baton doctor --fix", _make_private(open_to_others),
        )  # fmt: skip
    if examination.store is not None:
        yield from _find_foreign(examination)
        yield from _find_unwritable(examination)


def _list_exposed(examination: Examination) -> Iterator[Path]:
    """Yield private files and folders (texts of sessions, approvals, logins, the ledger) that other users can read."""
    private = []
    if examination.machine is not None:
        data = examination.machine.data
        private += [path for path in (data / "approved.json", *data.glob("*.key")) if path.is_file()]
    if examination.store is not None:
        folder = examination.common_dir / "baton"
        private += [folder / name for name in ("agents", "turns", "recall", "http", "doctor", "repository-id")]
        private += (folder / "provenance").glob("ledger/*")
    for path in private:
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield path


def _make_private(paths: list[Path]) -> Repair:
    def run() -> None:
        for path in paths:
            with durable_files.writing(str(path)):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)

    return Repair(f"Make {count_noun(len(paths), 'path')} private to you", run)


def _list_written_files(examination: Examination) -> Iterator[Path]:
    """Yield the folders that every write uses, and the files in them."""
    common_dir = examination.common_dir
    for folder in (common_dir / "objects" / "pack", common_dir / examination.prefix, common_dir / "baton"):
        if folder.is_dir():
            yield folder
            yield from folder.iterdir()


def _owner_of(path: Path) -> int | None:
    """Return the user id of a file's owner; None if it was deleted meanwhile, as by a merge of packs."""
    try:
        return path.lstat().st_uid
    except FileNotFoundError:
        return None


def _find_foreign(examination: Examination) -> Iterator[Diagnostic]:
    """Find files that do not belong to the owner of the repository, unless the repository is shared with a group.

    Such files are left by `sudo baton`.
    """
    owner = examination.common_dir.stat().st_uid
    foreign = [path for path in _list_written_files(examination) if _owner_of(path) not in (None, owner)]
    shared = examination.common_dir.stat().st_mode & 0o020
    if foreign and not shared:
        yield Diagnostic(
            "error", f"{count_noun(len(foreign), 'file')} of another user, such as {foreign[0]}",
            "baton or git ran with sudo", f"sudo chown -R {owner} {examination.common_dir}",
        )  # fmt: skip


def _find_unwritable(examination: Examination) -> Iterator[Diagnostic]:
    folders = [
        path for path in _list_written_files(examination) if path.is_dir() and not os.access(path, os.W_OK | os.X_OK)
    ]
    if folders:
        yield Diagnostic(
            "error", f"{folders[0]} cannot be written to, so nothing can be saved", "its owner or its permissions",
            f"chmod u+rwx {folders[0]}, or have its owner do that",
        )  # fmt: skip
