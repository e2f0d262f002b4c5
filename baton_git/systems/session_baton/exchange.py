"""The verbs that import and export batons in session-baton's storage formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, PrivateAttr, model_validator

from baton_git.core.errors import BatonError, FieldHint, InvalidArgument, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.names import Namespace
from baton_git.core.output import count_noun, flat
from baton_git.core.progress import track
from baton_git.core.times import iso, parse_time_or_none, to_utc
from baton_git.core.verb import READS, REPLACES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.import_quarantine import ImportQuarantine, QuarantinedRow, RefusedRow
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.results import PastRevision
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.imported import ImportedBaton, UnusableEntry
from baton_git.systems.session_baton.document_writing import DocumentResult, write_document
from baton_git.systems.session_baton.documents import DocumentRead, from_foreign_checks, read_document
from baton_git.systems.session_baton.foreign_rows import ScreenedDocument, fill_document, screen_document
from baton_git.systems.session_baton.storage_database import write_database
from baton_git.systems.session_baton.storage_files import cache_stem, read_any, write_cache, write_file

Storage = Literal["sqlite", "cache", "json"]


class BatonImport(NamedTuple):
    """The import of one baton: the result of its write, or why it was not imported; and the quarantined rows."""

    namespace: str
    where: str
    result: DocumentResult | None = None
    why: str = ""
    quarantined: tuple[QuarantinedRow, ...] = ()

    @property
    def approved(self) -> list[str]:
        """The ids of the patterns that, according to the document alone, a person approved as rules."""
        claims = [
            (claim.id, claim.field, claim.claimed) for claim in (self.result.held if self.result is not None else ())
        ]
        graduated = [id_ for id_, field, claimed in claims if (field, claimed) == ("status", "graduated")]
        return [id_ for id_ in graduated if (id_, "source_tier", "human_confirmed") in claims]

    def describe(self) -> list[WriteResult | str]:
        """Return what is told about the import: each sentence, and the commit."""
        if self.result is None:
            return [f"baton: {self.why}" if self.why.startswith(self.where) else f"baton: {self.where}: {self.why}"]
        told: list[WriteResult | str] = [f"{self.namespace}:"]
        filled = Counter(field.path.rpartition(".")[2] for field in self.result.filled)
        counts = [f"{name} in {count_noun(number, 'record')}" for name, number in filled.items()]
        told += [f"filled in: {', '.join(counts)}"] if counts else []
        told += [flat(f"invalid: {row.path}: {row.why}") for row in self.quarantined]
        if self.quarantined:
            told.append(f"quarantined: {len(self.quarantined)}; see: baton import quarantine -n {flat(self.namespace)}")
        held = (f"not accepted: {held.id} {held.field} {held.claimed!r} ({held.why})" for held in self.result.held)
        return [*told, self.result.written, *held]


class ImportBatons(Input):
    """The batons to import."""

    path: Path = Field(description="A database, cache folder, or JSON file of session-baton.")
    source: str | None = Field(None, description="The namespace to import, if PATH has several.")
    everything: bool = Field(False, description="Import all namespaces of PATH, each under its own name.")

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if self.source is not None and self.everything:
            raise ValueError("give {source} or {everything}, not both")
        return self


class ImportedBatons(Result):
    """The results of the import."""

    imports: list[dict[str, Any]] = Field(
        description="One entry for each baton: `ok`, `namespace`, `where`, and the result of `write`, or `why` it was "
        "not imported; `quarantined` has the invalid rows."
    )

    _batons: list[BatonImport] = PrivateAttr()

    @property
    def batons(self) -> list[BatonImport]:
        """The imports that this result was made from."""
        return self._batons

    @classmethod
    def of(cls, batons: list[BatonImport]) -> Self:
        """Return the result for a list of imports."""
        result = cls(imports=[_describe_import(baton) for baton in batons])
        result._batons = batons
        return result

    def show(self, reader: Reader) -> ResultView:
        notes = [note for baton in self.batons for note in baton.describe()]
        return ResultView(
            notes=notes, status="ok" if all(baton.result is not None for baton in self.batons) else "failed"
        )


class ExportBatons(Input):
    """The batons to export, and their destination."""

    path: Path = Field(description="The database, cache folder, or JSON file.")
    to: Storage | None = Field(None, description="The type of PATH. Default: derived from its name.")
    everything: bool = Field(False, description="Export all namespaces; not possible for json.")
    at: PastRevision = None


class ExportedBatons(Result):
    """The exported batons."""

    path: str = Field(description="The path of the export.")
    to: Storage = Field(description="The type of the path.")
    namespaces: list[str] = Field(description="The exported namespaces.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView(notes=[f"wrote {', '.join(self.namespaces)} to {self.path}"])


@verb(
    "import session-baton",
    usage="Rules that a person approved in session-baton can be confirmed at a terminal, all at once.",
    progress="importing",
    effect=REPLACES,
    positional=("path",),
    options={"source": Option(names=("--from",), metavar="NS"), "everything": Option(names=("--all",))},
    examples=(
        "baton import session-baton ~/session-baton/data/baton.sqlite3 --all",
        "baton import session-baton ~/.claude/loop/batons --from project:x",
        "baton import session-baton baton.json",
    ),
)
def import_session_baton(ws: Workspace, now: datetime, verb_input: ImportBatons) -> ImportedBatons:
    """Import batons of session-baton from its SQLite database, its cache folder, or a JSON file.

    Imported records are merged with those already in the namespace. A later import of the same source applies what
    changed there: records that the source no longer has are archived. If PATH has several namespaces and none is named
    with --from, the one with the name of this namespace is imported. Invalid rows are quarantined: baton import
    quarantine.

    Raises:
        NotFound: there is no baton, or none of that name.
    """
    path, namespace, everything = verb_input.path, verb_input.source, verb_input.everything
    known = {
        cache_stem(str(name)): str(name)
        for name in [*list_namespaces(ws.branch.store, ws.branch.prefix), ws.branch.namespace]
    }
    entries = read_any(path, namespace=None if everything else namespace or str(ws.branch.namespace), names=known)
    if not entries:
        raise NotFound("baton in", str(path), hint="give a database, a cache folder, or a JSON file of session-baton")
    if everything:
        chosen = [(entry, entry.namespace if isinstance(entry, ImportedBaton) else "") for entry in entries]
    else:
        wanted = _choose_batons(entries, namespace, str(ws.branch.namespace))
        chosen = [(entry, str(ws.branch.namespace)) for entry in wanted]
    return ImportedBatons.of([_import_baton(ws, now, entry, target) for entry, target in track(chosen, ws.progress)])


def _describe_import(imported: BatonImport) -> dict[str, Any]:
    kept = {"quarantined": [row._asdict() for row in imported.quarantined]} if imported.quarantined else {}
    if imported.result is None:
        return {"ok": False, "namespace": imported.namespace, "where": imported.where, "why": imported.why} | kept
    return {**imported.result.as_data(), "where": imported.where} | kept


def _choose_batons(
    entries: Sequence[ImportedBaton | UnusableEntry], namespace: str | None, own: str
) -> list[ImportedBaton | UnusableEntry]:
    batons = [entry for entry in entries if isinstance(entry, ImportedBaton)]
    named = [baton for baton in batons if baton.namespace == (namespace or own)]
    if named:
        return [*named]
    if len(entries) == 1 and namespace is None:
        return [*entries]
    names = ", ".join(sorted(baton.namespace for baton in batons)) or "none that can be read"
    hint = f"the source has: {names}; choose one with {{source}}, or all with {{everything}}"
    raise NotFound("baton of namespace", namespace or own, hint=FieldHint(hint))


def _import_baton(ws: Workspace, now: datetime, entry: ImportedBaton | UnusableEntry, target: str) -> BatonImport:
    namespace = Namespace(target) if target else ws.branch.namespace
    ws = ws.on(replace(ws.branch, namespace=namespace))
    quarantine = ImportQuarantine(ws.branch.store.repository.common_dir, namespace)

    def refuse(why: str, document: Any = None) -> BatonImport:
        kept = quarantine.replace(entry.where, [RefusedRow("", why, document)], iso(now))
        return BatonImport(target, entry.where, None, why, tuple(kept))

    if isinstance(entry, UnusableEntry):
        return refuse(entry.why)
    try:
        screened = _screen(ws, now, entry)
        kept = quarantine.replace(entry.where, screened.refused, iso(now))
        result = write_document(ws, now, screened.data, where=entry.where, op="import")
    except (InvalidDocument, LimitExceeded) as error:
        return refuse(str(error), entry.baton)
    except BatonError as error:
        return BatonImport(target, entry.where, why=str(error))
    return BatonImport(target, entry.where, result._replace(filled=screened.filled), quarantined=tuple(kept))


def _screen(ws: Workspace, now: datetime, entry: ImportedBaton) -> ScreenedDocument:
    """Return a baton without its invalid rows, with its missing fields and the time of its storage filled in."""
    stored = {"updated_at": entry.updated_at} if entry.updated_at is not None else {}
    whole = fill_document(from_foreign_checks(stored | entry.baton), now, cache(lambda: ws.branch.read().state))
    screened = screen_document(whole.data)
    refused = tuple(row.path for row in screened.refused)
    filled = [field for field in whole.filled if not any(field.path.startswith(f"{path}.") for path in refused)]
    return screened._replace(filled=(*filled, *screened.filled))


@verb(
    "export session-baton",
    effect=READS,
    positional=("path",),
    options={"everything": Option(names=("--all",)), "at": Option(metavar="REV|TIME")},
    examples=(
        "baton export session-baton data/baton.sqlite3 --all",
        "baton export session-baton ~/.claude/loop/batons",
        "baton export session-baton baton.json --at 2026-06-17",
    ),
)
def export_session_baton(ws: Workspace, now: datetime, verb_input: ExportBatons) -> ExportedBatons:
    """Write the state to session-baton's SQLite database, its cache folder, or a JSON file.

    Raises:
        NotFound: the namespace does not exist.
        InvalidArgument: the type of the path is unknown, or all namespaces cannot be exported in this way.
        WriteFailed: the storage cannot be written; nothing was changed.
    """
    path, everything, at = verb_input.path, verb_input.everything, verb_input.at
    storage = verb_input.to or _guess_storage(path)
    if everything and (storage == "json" or at is not None):
        raise InvalidArgument(
            "all namespaces can be exported only to a database or a cache folder, and only at their newest revision"
        )
    namespaces = list_namespaces(ws.branch.store, ws.branch.prefix) if everything else [ws.branch.namespace]
    batons = [_read_baton(replace(ws, branch=replace(ws.branch, namespace=name)), at) for name in namespaces]
    if storage == "sqlite":
        write_database(path, batons)
    elif storage == "cache":
        write_cache(path, batons)
    else:
        for baton in batons:
            write_file(path, baton)
    return ExportedBatons(path=str(path), to=storage, namespaces=[baton.namespace for baton in batons])


def _guess_storage(path: Path) -> Storage:
    if path.is_dir():
        return "cache"
    kinds: dict[str, Storage] = {".json": "json", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
    if path.suffix not in kinds:
        raise InvalidArgument(f"{path}: the type is unknown", hint="give the type: sqlite, cache or json")
    return kinds[path.suffix]


def _read_baton(ws: Workspace, at: str | None) -> ImportedBaton:
    document = read_document(ws, at, foreign=True)
    if document.baton is None or document.revision.time is None:
        ws.branch.check_exists()
        raise NotFound("namespace", str(ws.branch.namespace), hint="to create it: baton init")
    moment = _find_imported_time(document) or to_utc(document.revision.time).isoformat(timespec="microseconds")
    return ImportedBaton(str(ws.branch.namespace), document.baton, moment)


def _find_imported_time(document: DocumentRead) -> str | None:
    """Return the `updated_at` that a baton had when it was imported; None if it was changed since then.

    The time of the import is not a change of the baton: clients would take an old baton for the newest one.
    """
    named = (document.baton or {}).get("updated_at")
    is_unchanged = document.revision.op == "import" and isinstance(named, str)
    return named if is_unchanged and parse_time_or_none(named) is not None else None
