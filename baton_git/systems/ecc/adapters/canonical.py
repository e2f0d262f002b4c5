"""Parse canonical snapshots. Every snapshot that an adapter, a file or a request provides is parsed here."""

from __future__ import annotations

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.records.base import parse
from baton_git.systems.ecc.record import CanonicalSession, explain_extra_field


def parse_snapshot(data: object, *, where: str = "") -> CanonicalSession:
    """Parse and validate a snapshot.

    Raises:
        InvalidDocument: it is not plain JSON, or violates a rule of ECC's contract; each fault names its field.
        LimitExceeded: it is nested too deep.
    """
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a snapshot is an object, and this is not one")], where=where)
    json.check(data, where=where)
    try:
        return parse(CanonicalSession, data, where=where)
    except InvalidDocument as error:
        raise InvalidDocument([explain_extra_field(fault) for fault in error.faults], where=where) from error
