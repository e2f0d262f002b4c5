"""What several tools answer."""

from __future__ import annotations

from typing import Any

from baton_git.namespace.results import position, summarise
from baton_git.namespace.revision import WriteResult

Answer = dict[str, Any]
"""A tool's answer; each tool says in its code what is in it."""


def done(written: WriteResult) -> Answer:
    """The revision that a change made, and in words what it did."""
    said = "; ".join([summarise(written.changes), *taken_out(written)])
    return {**position(written.revision), "said": said}


def taken_out(written: WriteResult) -> list[str]:
    """What was redacted, in words."""
    return [f"redacted: {one.kind} in {key}, {one.path}" for key, one in written.redactions]
