"""The verb `validate`: check files and whole branches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple, Self

from pydantic import Field, PrivateAttr

from baton_git.core import kinds, layout, stored_form
from baton_git.core.brief_sections import SECTIONS
from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import BatonError, Fault, InvalidDocument, LimitExceeded, NotFound
from baton_git.core.isolation import UnshownRecord
from baton_git.core.output import count_noun, flat
from baton_git.core.state import Key, Unreadable
from baton_git.core.times import from_seconds
from baton_git.core.verb import READS, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.store import Folder
from baton_git.namespace.file_merge import EXPECTED, find_other_mode, text_at
from baton_git.namespace.provenance.judgement import UnvouchedClaim
from baton_git.namespace.results import AtNamespace, PastRevision, ResultPart, full_position
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems import find_document, list_documents

FAULTY = 1000
"""Maximum number of files with faults in a result."""
MODE = "mode"
"""The path of the fault of a readable record file that has another mode than record files have."""


class ValidatedFile(NamedTuple):
    """One file and its faults."""

    path: str
    kind: str
    faults: tuple[Fault, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return the file as plain data."""
        faults = [fault._asdict() for fault in self.faults]
        return {"path": self.path, "kind": self.kind, "ok": not self.faults, "faults": faults}


class WhichBranch(Input):
    """The revision to validate."""

    at: PastRevision = None


class FaultyFile(ResultPart):
    """A file of the branch, and its faults."""

    path: str = Field(description="The path of the file on the branch.", examples=["open_loops/OL-1.toml"])
    kind: str = Field(description="The kind of the record.", examples=["open_loop"])
    ok: bool = Field(description="Whether it has no faults.")
    faults: list[dict[str, str]] = Field(description="The path and message of each fault.")


class UnvouchedRecord(ResultPart):
    """A claim of a record that nobody on this machine vouches for."""

    record: str = Field(description="The record.", examples=["pattern PAT-9d2k1m"])
    text: str = Field(description="The claim, who makes it, and how to accept it.")


class ValidatedBranch(AtNamespace):
    """The result of validating a branch."""

    checked: int = Field(description="Number of files on the branch.")
    ok: bool = Field(description="Whether no file has a fault.")
    faulty: list[FaultyFile] = Field(description=f"The files with faults, at most {FAULTY}.")
    claims: list[UnvouchedRecord] = Field(description="The claims that nobody on this machine vouches for.")

    _files: list[ValidatedFile] = PrivateAttr()

    @property
    def files(self) -> list[ValidatedFile]:
        """All files of the branch."""
        return self._files

    @classmethod
    def of(cls, revision: Revision, files: list[ValidatedFile], claims: Iterable[UnvouchedClaim]) -> Self:
        """Return the result for the files of a revision."""
        faulty = [file.as_data() for file in files if file.faults]
        result = cls(
            **full_position(revision),
            checked=len(files),
            ok=not faulty,
            faulty=faulty[:FAULTY],
            claims=[{"record": str(claim.key), "text": claim.text} for claim in claims],
        )
        result._files = files
        return result

    def show(self, reader: Reader) -> ResultView:
        shown = show_files(self.files)
        return shown._replace(notes=[*(f"claim: {flat(c.record)}: {flat(c.text)}" for c in self.claims), *shown.notes])


def show_files(files: Sequence[ValidatedFile]) -> ResultView:
    """Return the faults of files, and how many have some."""
    faulty = [file for file in files if file.faults]
    lines = [flat(f"{file.path}: {fault}") for file in faulty for fault in file.faults]
    note = f"{count_noun(len(files), 'file')} checked, {len(faulty)} with faults"
    return ResultView("\n".join(lines), [note], "failed" if faulty else "ok")


@verb(
    "validate",
    "GET /v1/validate",
    usage=("With FILE, validate files instead: documents, or files of records. Exit status: 1 if a file is invalid."),
    effect=READS,
    tag="state",
    options={"at": Option(metavar="REV|TIME")},
    examples=(
        "baton validate baton.json",
        "baton validate open_loops/OL-7k3f9q.toml",
        "baton validate snapshot.json --kind ecc_session",
        "baton validate kairos-session-handover.txt",
        "baton validate",
    ),
)
def validate(ws: Workspace, now: datetime, verb_input: WhichBranch) -> ValidatedBranch:
    """Validate every file of the namespace, archived records included.

    Raises:
        NotFound: the namespace or the revision does not exist.
    """
    revision = ws.branch.read(verb_input.at)
    claims = ws.shown_judgement(revision).find_unvouched(revision.state)
    return ValidatedBranch.of(revision, list(validate_branch(ws, revision.commit)), claims)


def validate_text(path: str, text: bytes, kind: str | None = None) -> ValidatedFile:
    """Validate the text of a file: a document of a system, such as session-baton's `.json`, or the file of a record.

    Args:
        path: the path of the file. Its last parts identify the record, as in a path on a branch.
        kind: the kind of record or document; None to derive it from the path.
    """
    copied = _find_copied_kind(path, kind)
    name = kind or ("baton" if PurePath(path).suffix == ".json" else copied.kind if copied is not None else "?")
    try:
        document = find_document(name)
        if document is not None:
            document.parse()(strict_json.loads(text))
            return ValidatedFile(path, document.name)
        digits = stored_form.find_bundle_digits(_end_of(path))
        if digits is not None and kind is None:
            return _validate_bundle(path, text, digits)
        key = Key(name, str(copied.codec.decode("", text)["id"])) if copied is not None else _find_key(path, kind)
        decoded = layout.decode(key, path, text)
    except InvalidDocument as error:
        return ValidatedFile(path, name, error.faults)
    except BatonError as error:
        return ValidatedFile(path, name, (Fault("", str(error)),))
    name = f"archived {key.kind}" if key.archived else key.kind
    return ValidatedFile(path, name, (Fault("", decoded.why),) if isinstance(decoded, Unreadable) else ())


def _end_of(path: str) -> str:
    """Return the last parts of a path, as many as the path of a bundle has."""
    return "/".join(PurePath(path).parts[-4:])


def _validate_bundle(path: str, text: bytes, digits: str) -> ValidatedFile:
    """Validate a bundle of archived records, and each record in it."""
    bundle, place = stored_form.split_bundle(text, digits), stored_form.find_place(_end_of(path))
    assert place is not None
    faults = [Fault("", fault) for fault in bundle.faults]
    for name, part in bundle.sections.items():
        key = Key(place.kind, stored_form.find_archived_id(name) or "", archived=True)
        decoded = layout.decode(key, path, text[part.start : part.end])
        faults += [Fault(name, decoded.why)] if isinstance(decoded, Unreadable) else []
    return ValidatedFile(path, f"archived {place.kind}", tuple(faults))


def _find_copied_kind(path: str, kind: str | None) -> kinds.KindInfo | None:
    """Find the kind of a copy of a record outside a branch, if `kind` or the file name identifies it."""
    *folders, name = PurePath(path).parts or ("",)
    for row in kinds.KINDS.values():
        is_meant = kind == row.kind if kind is not None else name == row.copied_as
        if row.copied_as and is_meant and row.folder not in folders[-1:]:
            return row
    return None


def _find_key(path: str, kind: str | None) -> Key:
    """Find the key of a record from the last parts of the path of its file."""
    parts = PurePath(path).parts
    for length in (4, 3, 2, 1):
        key = layout.key_at(stored_form.restore_path("/".join(parts[-length:])))
        if key is not None and kind in (None, key.kind):
            return key
    if kind in kinds.SINGLETONS:
        return Key(str(kind))
    if kind in kinds.KINDS:
        row = kinds.KINDS[str(kind)]
        id_ = row.id_of("/".join(parts[-row.parts :]))
        if id_ is not None:
            return Key(str(kind), id_)
    why = "no kind of record has files with this name; give --kind, or the path that the file has on a branch"
    raise InvalidDocument([Fault("", why)])


def validate_branch(ws: Workspace, at: str | None = None) -> Iterator[ValidatedFile]:
    """Validate every file of a namespace, including the archive.

    A file outside the folders of records is only listed. The brief and the exported documents are generated, too, and
    the documents are validated.

    Raises:
        NotFound: the namespace or the revision does not exist.
    """
    revision = ws.branch.read(at)
    if revision.tree is None:
        raise NotFound("namespace", str(ws.branch.namespace), hint="baton init creates it")
    root = ws.branch.store.folder(revision.tree)
    for path in sorted(layout.paths_below(root)):
        key = layout.key_at(path)
        if key is None:
            yield _check_other_file(path)
            continue
        entry = revision.state.entry(key)
        name = f"archived {key.kind}" if key.archived else key.kind
        unreadable = Fault("", entry.why) if isinstance(entry, Unreadable) else None
        fault = unreadable or _check_mode(find_other_mode(root, path))
        yield ValidatedFile(path, name, (fault,) if fault is not None else ())
    yield from _find_faulty_bundles(root)
    for record in _find_unshown(ws, revision):
        yield ValidatedFile("(brief)", "brief", (Fault(record.path, record.why),))
    faults = _find_document_faults(revision)
    if faults:
        yield ValidatedFile("(document)", "baton", faults)


def _find_faulty_bundles(root: Folder) -> Iterator[ValidatedFile]:
    """Yield the bundles with other content than archived records. Their records were validated one by one."""
    archive = root.folder(kinds.ARCHIVE).stored()
    for path in sorted(layout.paths_below(archive, f"{kinds.ARCHIVE}/")) if root.version > 1 else ():
        digits = stored_form.find_bundle_digits(path)
        faults = stored_form.split_bundle(text_at(root.stored(), path), digits).faults if digits is not None else ()
        if faults:
            yield ValidatedFile(path, "bundle", tuple(Fault("", fault) for fault in faults))


def _check_mode(mode: int | None) -> Fault | None:
    return None if mode is None else Fault(MODE, f"is {mode:o}, but {EXPECTED}")


def _find_unshown(ws: Workspace, revision: Revision) -> Iterator[UnshownRecord]:
    """Generate a revision's brief, and yield the records that could not be shown."""
    judge = ws.shown_judgement(revision)
    for make in SECTIONS:
        yield from make(revision.state, revision.time or from_seconds(0), ws.policy, judge).unshown


def _find_document_faults(revision: Revision) -> tuple[Fault, ...]:
    """Generate a revision's exported documents, and return the faults of the first faulty document."""
    try:
        for document in list_documents():
            if document.make is not None:
                document.parse()(strict_json.loads(strict_json.dumps(document.make()(revision.state))))
    except InvalidDocument as error:
        return error.faults
    except LimitExceeded as error:
        return (Fault("", str(error)),)
    return ()


def _check_other_file(path: str) -> ValidatedFile:
    """Return the result for a file that is not a record. It has a fault if it is in a folder of records."""
    record_folders = {row.folder for row in kinds.KINDS.values()} | {kinds.ARCHIVE}
    if path.split("/")[0] in record_folders:
        return ValidatedFile(path, "unknown", (Fault("", "is not the file of a record"),))
    return ValidatedFile(path, "other")
