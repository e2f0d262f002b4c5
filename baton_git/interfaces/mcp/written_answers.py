"""What several tools answer."""

from __future__ import annotations

from typing import Any

from baton_git.core.diff import commit_subject
from baton_git.namespace.revision import WriteResult

Answer = dict[str, Any]
"""A tool's answer; each tool says in its code what is in it."""


def done(written: WriteResult) -> Answer:
    """The revision that a change made, and in words what it did."""
    version = written.revision
    said = commit_subject(list(written.changes)) if written.changes else "nothing changed"
    return {"revision": version.number, "commit": version.commit, "said": "; ".join([said, *taken_out(written)])}


def taken_out(written: WriteResult) -> list[str]:
    """What was redacted, in words."""
    return [f"redacted: {one.kind} in {key}, {one.path}" for key, one in written.redactions]
