"""Which checks may be made on this machine: those that were written here, and others that its user allowed.

A check asks something of this machine (a file, a process, a port, an address), and its result is shared. So one that
was written elsewhere waits until the user approves it, as it stands (`baton trust ID`), or trusts the remote that it
came from.
"""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256

from baton_git.checks.approvals import ApprovedCheck
from baton_git.core.errors import BatonError, InvalidArgument, StoreError
from baton_git.core.output import one_line
from baton_git.core.records.work_items import OpenLoop, VerifySpec
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.namespace.provenance.labels import Label
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.trust import approvals_of, refusal_of, trust


class Consent:
    """What the user of this machine allowed, of the checks of one version."""

    def __init__(self, ws: Workspace, version: Revision) -> None:
        self._ws = ws
        self._labels = ws.labels(version)
        self._approved = _approved(ws)

    def refusal(self, loop: OpenLoop) -> str | None:
        """Why the check of a loop waits; None when it may be made.

        A bare repository answers for a commit itself, which asks nothing of the machine.
        """
        if loop.verify is None or (loop.verify.method == "git_commit" and self._ws.folder is None):
            return None
        if (loop.id, digest_of(loop.verify)) in self._approved:
            return None
        try:
            stranger = self.stranger(loop)
        except BatonError as error:
            return f"waits for approval: nobody can tell who wrote this check ({one_line(str(error), 200)})"
        return None if stranger is None else f"waits for approval: {_written_by(stranger)}; run: baton trust {loop.id}"

    def stranger(self, loop: OpenLoop) -> Label | None:
        """Who wrote the check, when that was neither this machine nor a remote that the user trusts. Raises as
        `Labels.stranger` does.
        """
        return self._labels.stranger(Key(OpenLoop.kind, loop.id), "check")


def _approved(ws: Workspace) -> frozenset[tuple[str, str]]:
    """By id of a record, the digests of checks that the user approved; none where the approvals cannot be read."""
    try:
        checks = ws.approvals.checks() if ws.approvals is not None else []
    except StoreError:
        return frozenset()
    namespace = str(ws.branch.namespace)
    return frozenset((one.id, one.digest) for one in checks if one.namespace == namespace)


def _written_by(label: Label) -> str:
    if label.kind == "received":
        name = one_line(label.remote, 60)
        return f"this check came from {name} (all of it: baton trust --from {name})"
    return f"this check was not written with baton on this machine ({one_line(label.author, 80)})"


def digest_of(verify: VerifySpec) -> str:
    """What an approval of a check is bound to: exactly what it asks."""
    return sha256(json.dumps(verify.as_data(), sort_keys=True).encode()).hexdigest()


def loop_with_check(ws: Workspace, id_: str) -> tuple[OpenLoop, VerifySpec]:
    """The open loop that is meant, and its check.

    Raises:
        InvalidArgument: it has none.
    """
    loop = ws.branch.read().state.find(OpenLoop, id_)
    if loop.verify is None or loop.verify.method == "manual":
        raise InvalidArgument(f"open loop {loop.id} has no check that needs approval")
    return loop, loop.verify


def approve_check(ws: Workspace, now: datetime, id_: str, expected: VerifySpec) -> bool:
    """Lets the check of an open loop be made, with the command that it may run; False when that was approved already.

    Args:
        expected: the check that was shown.

    Raises:
        InvalidArgument: there is nothing to approve, or the check is another one by now.
    """
    version = ws.branch.read()
    loop, verify = loop_with_check(ws, id_)
    if verify != expected:
        raise InvalidArgument(f"the check of open loop {loop.id} changed just now", hint="look at it again")
    is_foreign = Consent(ws, version).stranger(loop) is not None
    if not is_foreign and not verify.argv:
        raise InvalidArgument(f"the check of open loop {loop.id} needs no approval: it was written here")
    approved = ApprovedCheck(str(ws.branch.namespace), loop.id, digest_of(verify), iso(now))
    is_new = is_foreign and approvals_of(ws).approve_check(approved)
    return (trust(ws, now, verify.argv) if verify.argv else False) or is_new


def revoke_check(ws: Workspace, id_: str) -> bool:
    """Takes back what was approved of an open loop's check, its command too; False when nothing was."""
    loop, verify = loop_with_check(ws, id_)
    approvals = approvals_of(ws)
    was_check = approvals.revoke_check(str(ws.branch.namespace), loop.id)
    return (approvals.revoke(verify.argv) if verify.argv else False) or was_check


def waiting_checks(ws: Workspace) -> dict[str, tuple[VerifySpec, str]]:
    """By id, the checks that wait for approval, and why."""
    version = ws.branch.read()
    consent = Consent(ws, version)
    found = {}
    for loop in version.state.records(OpenLoop):
        if loop.verify is None or loop.verify.method == "manual":
            continue
        why = consent.refusal(loop)
        if why is None and loop.verify.argv:
            why = refusal_of(ws, loop.verify.argv)
        if why is not None:
            found[loop.id] = (loop.verify, why)
    return found
