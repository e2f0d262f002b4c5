"""The report of `doctor`, redacted so that it can be published: without names, paths, addresses and secrets."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping

from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact_text
from baton_git.verbs.doctor.doctor import Diagnosis
from baton_git.verbs.doctor.examination import Examination

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"\b(?:https?|ssh|git|ftp)://[^\s'\")]+|\b[\w.-]+@[\w.-]+:[\w./~-]+")
_PATH = re.compile(r"(?<![\w<>.~-])/(?:[^\s'\",:;()]+/)+[^\s'\",:;()]*")
SHORT = 3
"""Names with fewer characters are not replaced, because they also occur as ordinary words."""


def write_report(examination: Examination, diagnosis: Diagnosis, names: Mapping[str, str]) -> str:
    """Return the report as Markdown.

    Args:
        names: texts that must not appear in it, and their replacements.
    """
    lines = [*_head(examination), "", *_list_findings(diagnosis)]
    return "\n".join(hide_names(line, names) for line in lines)


def hide_names(text: str, names: Mapping[str, str]) -> str:
    """Return a text without secrets, names, addresses and paths."""
    text, _ = redact_text(text)
    for name in sorted(names, key=len, reverse=True):
        if name.startswith("/"):
            text = text.replace(name, names[name])
        elif len(name) >= SHORT:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", names[name], text)
    return _PATH.sub("<path>", _ADDRESS.sub("<address>", _MAIL.sub("<mail>", text)))


def _head(examination: Examination) -> Iterator[str]:
    machine = examination.local
    yield "### baton doctor"
    yield ""
    yield f"- baton {machine.version}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
    try:
        yield f"- git {'.'.join(map(str, examination.git.version))}"
    except BatonError as error:
        yield f"- git: {error}"


def _list_findings(diagnosis: Diagnosis) -> Iterator[str]:
    for part in diagnosis.findings:
        yield f"- **{part.severity}** {part.check}: {part.summary}"
        yield from (f"  - {name}: {text}" for name, text in (("cause", part.cause), ("repair", part.repair)) if text)
