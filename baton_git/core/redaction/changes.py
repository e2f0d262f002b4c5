"""Redact the secrets in a change of state, and shorten the paths of this machine.

Only new text is searched, not text that is already stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.kinds import KINDS, name_kind
from baton_git.core.local_names import LocalNames, may_have_paths
from baton_git.core.records.base import Part
from baton_git.core.redaction import Redaction, find_secret_kind, redact
from baton_git.core.state import Entry, Key, State

Redactions = tuple[tuple[Key, Redaction], ...]
"""Redacted secrets with the keys of their records."""


def redact_edits(
    before: State, after: State, load_names: Callable[[], LocalNames] | None = None
) -> tuple[dict[Key, Entry | None], list[tuple[Key, Redaction]]]:
    """Return the edits without secrets and with the paths of this machine shortened, and the redactions.

    The records of kinds that hold the documents of other systems keep their paths (`KindInfo.is_verbatim`).

    Args:
        load_names: returns the names of this machine; called only if a text may contain a path. None keeps all paths.

    Raises:
        InvalidDocument: the id of a record contains a secret.
    """
    edits: dict[Key, Entry | None] = {}
    redactions = []
    for key, record in after.edits.items():
        edits[key] = record
        if not isinstance(record, Part):
            continue
        refuse_secret(f"id of {name_kind(key.kind)}", key.id)
        whole, known = record.as_data(), _strings(before, key)
        data, secrets = redact(whole, known=known)
        is_verbatim = key.kind in KINDS and KINDS[key.kind].is_verbatim
        if load_names is not None and not is_verbatim and may_have_paths(data):
            data = load_names().shorten(data, known=known)
        if data is not whole:
            edits[key] = type(record).model_validate(data)
            redactions += [(key, secret) for secret in secrets]
    return edits, redactions


def _strings(state: State, key: Key) -> frozenset[str]:
    """Return the stored strings of the record at `key`, including the live record if `key` is archived."""
    known: set[str] = set()
    for stored_key in {key, Key(key.kind, key.id)}:
        entry = state.source.load(stored_key)
        if isinstance(entry, Part):
            _collect(entry.as_data(), known)
    return frozenset(known)


def _collect(value: object, into: set[str]) -> None:
    if isinstance(value, str):
        into.add(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            into.add(str(key))
            _collect(item, into)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, into)


_secret_of_name = lru_cache(maxsize=4096)(find_secret_kind)
"""Cached, because the same ids and sessions are checked repeatedly."""


def is_secret_name(text: str) -> bool:
    """Whether a name contains a secret; names cannot be redacted."""
    return bool(_secret_of_name(text))


def refuse_secret(what: str, text: str) -> None:
    """Raise InvalidDocument if a name contains a secret, because names cannot be redacted."""
    kind = _secret_of_name(text)
    if kind:
        raise InvalidDocument(
            [Fault("", f"the {what} holds a secret ({kind})")], hint="use another name; nothing was written"
        )
