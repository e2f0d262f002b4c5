"""Convert values for a page: addresses, commands, labels and times. Texts of records become links only if they are
harmless http(s) addresses."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from baton_git.core.kinds import ALL_KINDS
from baton_git.core.output import html
from baton_git.core.records.base import Part, value_at
from baton_git.core.times import format_minute, from_seconds, iso, parse_time_or_none, to_utc
from baton_git.namespace.provenance.judgement import word_of_kind
from baton_git.verbs.records.stored import RecordProvenance

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d[0-9:.]*(Z|[+-]\d\d:?\d\d)\Z")
_LINK = re.compile(r"https?://[A-Za-z0-9\[][^\s<>\"'`{}|\\^]{0,2000}\Z")

FIELDS = {
    "source_tier": "declared tier", "expected_outcome": "expected", "defer_count": "put off", "why": "because",
    "rejected": "rejected", "first_seen": "since", "created_at": "since", "last_deferred": "last put off",
    "proposed_rule": "proposed rule", "decision_ref": "from decision", "linked_pattern": "belongs to pattern",
    "recent_occurrences": "newest occurrences", "ttl_days": "due after (days)", "duration_ms": "duration (ms)",
}  # fmt: skip
"""The labels of record fields on pages. Other fields are shown by their names."""

REPOSITORY_PAGES = ("/", "/search", "/doctor")
"""The paths of the pages that belong to no namespace, without those of the login."""

TIERS = {"human_confirmed": "confirmed by a person", "llm_derived": "derived by a model", "raw_source": "raw source"}


def quote_value(value: object) -> str:
    """Quote any text for an address, or for a field of a form that is sent back unchanged."""
    return quote(str(value), safe="", errors="surrogatepass")


def address(component: str, page: str = "", **query: object) -> str:
    """Return the address of a page of a namespace, without parameters that are None or empty."""
    parameters = {name: str(value) for name, value in query.items() if value not in (None, "", False)}
    text = urlencode(parameters, quote_via=quote, safe="", errors="surrogatepass")
    return f"/n/{quote_value(component)}/{page}{f'?{text}' if text else ''}"


def next_page(text: str, fallback: str = "/") -> str:
    """Return `text` if it is the address of a page of this server; otherwise `fallback`.

    The pages of the login are not accepted.
    """
    path = text.partition("?")[0] if text.isascii() and text.isprintable() and "\\" not in text else ""
    return text if path in REPOSITORY_PAGES or path.startswith("/n/") else fallback


_WORD = re.compile(r"[a-z][a-z'’-]*,?(?:\s|$)")


def sentence(text: object) -> str:
    """Return the message of an error as a sentence. A first word that is a name, such as a ref, a file or a namespace
    before a colon, stays as it is."""
    message = str(text)
    first = message[:1].upper() if _WORD.match(message) else message[:1]
    return f"{first}{message[1:]}" + ("" if message.endswith((".", "?", "!")) else ".")


def command(*words: object, namespace: str | None = None) -> str:
    """Return a command quoted for a shell."""
    shown_words = [str(html(str(word))) for word in words]
    if namespace is not None:
        is_option = namespace.startswith("-")
        shown_words += [f"--namespace={namespace}"] if is_option else ["--namespace", str(html(namespace))]
    return shlex.join(shown_words)


def is_link(value: object) -> bool:
    """Return whether a text is an address that a page may link to."""
    return isinstance(value, str) and value.isascii() and _LINK.match(value) is not None


def words(value: object) -> str:
    """`rule_candidate` → `rule candidate`."""
    return str(value).replace("_", " ")


def field_words(name: object) -> str:
    """Return the label of a record's field."""
    return FIELDS.get(str(name), words(name))


def is_moment(value: object) -> bool:
    """Return whether a text is a complete point in time."""
    return isinstance(value, str) and _MOMENT.match(value) is not None and parse_time_or_none(value) is not None


def kind_words(kind: str, count: int = 1) -> str:
    """Return the label of a kind of record."""
    closed, plain = kind.startswith("archived_"), kind.removeprefix("archived_")
    name = ALL_KINDS[plain].name(count) if plain in ALL_KINDS else words(plain)
    return f"archived {name}" if closed else name


def about(record: Part, kind: str) -> str:
    """Return the title of a record, from the field that its kind names, or else its id."""
    return str(value_at(record, ALL_KINDS[kind].about) or record.as_data().get("id", ""))


def tier_words(tier: str) -> str:
    return TIERS.get(tier, words(tier))


def source_words(source: RecordProvenance) -> str:
    """Return who vouches for a record, in one or two words."""
    return word_of_kind(source.kind, source.remote or "")


def cut(value: str, limit: int = 600) -> str:
    """Return at most `limit` characters of a text."""
    return value if len(value) <= limit else value[: limit - 1].rstrip() + "…"


def plain_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def person(author: str) -> str:
    """Return the name of a commit's author without the address."""
    return author.partition("<")[0].strip()


def point(value: object) -> datetime | None:
    """Return the point in time in a record's text or of a commit; None if there is none.

    There is none for the first commit of a namespace, whose time is always the start of 1970.
    """
    if isinstance(value, datetime):
        return to_utc(value) if value != from_seconds(0) else None
    return parse_time_or_none(value) if isinstance(value, str) else None


def machine_time(moment: datetime) -> str:
    return iso(moment)


def human_time(moment: datetime) -> str:
    return f"{format_minute(moment)} UTC"


def name_day(day: date, now: datetime) -> str:
    """Return `Today`, `Yesterday`, or `Friday, 20 November`, with the year if it is not the current one.

    The first commit of a namespace is always dated at the start of 1970, which is not shown.
    """
    if day == from_seconds(0).date():
        return "Creation of the namespace"
    distance = (to_utc(now).date() - day).days
    if distance in (0, 1):
        return "Yesterday" if distance else "Today"
    return f"{day:%A}, {day.day} {day:%B}" + ("" if day.year == now.year else f" {day.year}")
