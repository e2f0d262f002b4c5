"""Decide which checks may run on this machine: those written here, and those that its user approved.

A command also needs an approval of its own (`trust`).

A check inspects this machine (a file, a process, a port, an address), and its result is shared. A check written
elsewhere therefore waits until the user approves exactly this check (`baton trust ID`) or trusts its remote.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import cached_property
from hashlib import sha256

from baton_git.checks.approvals import ApprovedCheck
from baton_git.core.errors import BatonError, InvalidArgument, StoreError
from baton_git.core.outlines import LoopOutline
from baton_git.core.output import one_line
from baton_git.core.records.work_items import OpenLoop, VerifySpec
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.namespace.provenance.labels import Label
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.verification.trust import distrust, find_refusal, require_approvals, trust


class Consent:
    """The user's approvals for the checks of one revision."""

    def __init__(self, ws: Workspace, revision: Revision) -> None:
        self._ws = ws
        self._labels = ws.labels(revision)
        self._approved = _load_approved(ws)

    def refusal(self, loop: OpenLoop) -> str | None:
        """Return why the check of a loop waits for approval; None if its origin allows it to run.

        In a bare repository, a check for a commit needs no approval, because it reads only the repository.
        """
        if loop.verify is None or (loop.verify.method == "git_commit" and self._ws.folder is None):
            return None
        if (loop.id, make_check_digest(loop.verify)) in self._approved:
            return None
        try:
            stranger = self.stranger(loop)
        except BatonError as error:
            return f"waits for approval: nobody can tell who wrote this check ({one_line(str(error), 200)})"
        if stranger is None:
            return None
        return f"waits for approval: {_describe_origin(stranger)}; run: baton trust {loop.id}"

    def may_wait(self, loop: LoopOutline) -> bool:
        """Return whether the check of a loop waits for approval, unless one of its approvals is for exactly this check.

        It takes no decoding of the loop, of which a start may have 10,000.

        Raises:
            BatonError: under the same conditions as `Labels.find_stranger`.
        """
        if loop.method == "git_commit" and self._ws.folder is None:
            return False
        return self._labels.find_stranger(Key(OpenLoop.kind, loop.id), "check") is not None

    def has_approval(self, id_: str) -> bool:
        """Return whether the user approved a check of the loop with this id, as it is now or as it was before."""
        return any(approved == id_ for approved, _ in self._approved)

    def stranger(self, loop: OpenLoop) -> Label | None:
        """Return who wrote the check; None if it was this machine or a trusted remote.

        Raises:
            BatonError: under the same conditions as `Labels.find_stranger`.
        """
        return self._labels.find_stranger(Key(OpenLoop.kind, loop.id), "check")


def _load_approved(ws: Workspace) -> frozenset[tuple[str, str]]:
    """Load the approved checks as (record id, digest); none if the approvals cannot be read."""
    try:
        checks = ws.approvals.checks() if ws.approvals is not None else []
    except StoreError:
        return frozenset()
    namespace = str(ws.branch.namespace)
    return frozenset((check.id, check.digest) for check in checks if check.namespace == namespace)


def _describe_origin(label: Label) -> str:
    if label.kind == "received":
        name = one_line(label.remote, 60)
        return f"this check came from {name} (to trust all its checks: baton trust --from {name})"
    return f"this check was not written with baton on this machine ({one_line(label.author, 80)})"


def make_check_digest(verify: VerifySpec) -> str:
    """Make the digest that binds an approval to exactly this check."""
    return sha256(json.dumps(verify.as_data(), sort_keys=True).encode()).hexdigest()


def find_loop_with_check(ws: Workspace, id_: str) -> tuple[OpenLoop, VerifySpec]:
    """Find an open loop and its check.

    Raises:
        InvalidArgument: it has no check that needs approval.
    """
    loop = ws.branch.read().state.find(OpenLoop, id_)
    if loop.verify is None or loop.verify.method == "manual":
        raise InvalidArgument(f"open loop {loop.id} has no check that needs approval")
    return loop, loop.verify


def approve_check(ws: Workspace, now: datetime, id_: str, expected: VerifySpec) -> bool:
    """Approve the check of an open loop and its command; return False if they were approved already.

    Args:
        expected: the check that was shown.

    Raises:
        InvalidArgument: the loop has no check that needs approval, or the check has changed.
    """
    revision = ws.branch.read()
    loop, verify = find_loop_with_check(ws, id_)
    if verify != expected:
        raise InvalidArgument(f"the check of open loop {loop.id} changed just now", hint="look at it again")
    is_foreign = Consent(ws, revision).stranger(loop) is not None
    if not is_foreign and not verify.argv:
        raise InvalidArgument(f"the check of open loop {loop.id} needs no approval: it was written here")
    approved = ApprovedCheck(str(ws.branch.namespace), loop.id, make_check_digest(verify), iso(now))
    is_new = is_foreign and require_approvals(ws).approve_check(approved)
    return (trust(ws, now, verify.argv) if verify.argv else False) or is_new


def revoke_check(ws: Workspace, id_: str) -> bool:
    """Revoke the approval of an open loop's check and its command; return False if there was none."""
    loop, verify = find_loop_with_check(ws, id_)
    approvals = require_approvals(ws)
    was_check = approvals.revoke_check(str(ws.branch.namespace), loop.id)
    return (distrust(ws, verify.argv) if verify.argv else False) or was_check


def list_waiting_checks(ws: Workspace) -> dict[str, tuple[VerifySpec, str]]:
    """List the checks that wait for approval, by loop id, with the reason."""
    revision = ws.branch.read()
    consent = Consent(ws, revision)
    waiting = {}
    for loop in revision.state.select(OpenLoop, lambda loop: loop.has_check):
        why = find_reason_to_wait(ws, consent, loop)
        if why is not None and loop.verify is not None:
            waiting[loop.id] = (loop.verify, why)
    return waiting


class WaitingChecks:
    """Tells why the check of a loop waits for a person's approval. The approvals are read when first needed."""

    def __init__(self, ws: Workspace, revision: Revision) -> None:
        self._ws = ws
        self._revision = revision

    @cached_property
    def _consent(self) -> Consent:
        return Consent(self._ws, self._revision)

    def find_reason(self, loop: OpenLoop) -> str:
        """Return why the check of an unsettled loop waits; empty if it does not wait, or no program checks it."""
        if loop.status == "verified" or not has_automatic_check(loop):
            return ""
        return find_reason_to_wait(self._ws, self._consent, loop) or ""

    def __contains__(self, loop: OpenLoop) -> bool:
        return bool(self.find_reason(loop))


def has_automatic_check(loop: OpenLoop) -> bool:
    """Return whether a program checks a loop, not a person."""
    return loop.verify is not None and loop.verify.method != "manual"


def find_reason_to_wait(ws: Workspace, consent: Consent, loop: OpenLoop) -> str | None:
    """Return why the automatic check of a loop waits for a person's approval; None if it does not."""
    why = consent.refusal(loop)
    if why is None and loop.verify is not None and loop.verify.argv:
        why = find_refusal(ws, loop.verify.argv)
    return why
