"""The check for rows that an import could not convert."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.output import count_noun
from baton_git.namespace.import_quarantine import ImportQuarantine, list_quarantines
from baton_git.verbs.doctor.diagnostic import Diagnostic
from baton_git.verbs.doctor.examination import Examination


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
