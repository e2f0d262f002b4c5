"""Patterns: record an occurrence, propose a rule, graduate (a person only), dismiss."""

from __future__ import annotations

from datetime import datetime

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import Confirmed, candidate, dismissed, graduate, proposed, recurred
from baton_git.core.records.base import parse
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.redaction import redact_text
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso, iso_exact
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, WrittenRecord, check_not_empty, fresh_id


def record_pattern(
    ws: Workspace,
    now: datetime,
    *,
    what: str,
    context: str = "",
    rule: str | None = None,
    id_: str | None = None,
    tier: str | None = None,
) -> WrittenRecord:
    """One more occurrence of a pattern, or a new pattern.

    A pattern is known again by its id, or by its words (case and spacing aside).

    Raises:
        InvalidDocument: a value does not fit its field.
    """
    check_not_empty(what, "pattern")
    fresh = fresh_id(KINDS[Pattern.kind].prefix) if id_ is None else id_

    def change(tip: Revision) -> State:
        known = _known(tip.state, what, id_)
        if known is not None:
            again = recurred(known, ws.session, context, now)
            return tip.state.put(again.replace(proposed_rule=rule) if rule else again)
        data = {
            "id": fresh,
            "what": what,
            "first_seen": iso_exact(now),
            "last_seen": iso(now),
            "count": 1,
            "recent_occurrences": [{"session": ws.session, "context": context}],
            "threshold": ws.policy.threshold,
            "status": "observing",
            "source_tier": tier or "llm_derived",
        }
        return tip.state.add(candidate(parse(Pattern, data | ({"proposed_rule": rule} if rule else {}))))

    written = ws.update("pattern-record", now, change)
    known = _known(written.before.state, what, id_)
    return WrittenRecord(known.id if known else fresh, written)


def _known(state: State, what: str, id_: str | None) -> Pattern | None:
    words = _words(redact_text(what)[0])  # as it was stored
    for pattern in state.records(Pattern):
        if pattern.id in (id_, what) or (id_ is None and _words(pattern.what) == words):
            return pattern
    return None


def _words(text: str) -> list[str]:
    return text.casefold().split()


def propose_rule(ws: Workspace, now: datetime, id_: str, rule: str) -> WrittenRecord:
    check_not_empty(rule, "rule")
    return ws.edit("pattern-propose", now, Pattern, id_, lambda state, one: state.put(proposed(one, rule)))


def dismiss_pattern(ws: Workspace, now: datetime, id_: str) -> WrittenRecord:
    return ws.edit("pattern-dismiss", now, Pattern, id_, lambda state, one: state.put(dismissed(one)))


def graduate_pattern(
    ws: Workspace, now: datetime, id_: str, confirmed: Confirmed | None, *, rule: str | None = None
) -> WrittenRecord:
    """The pattern becomes the rule `rules/<id>.md`.

    Raises:
        NeedsHuman: `confirmed` is None.
        NotAllowed: the pattern is no candidate.
    """

    def change(state: State, one: Pattern) -> ProposedState:
        is_claim = not ws.judgement().is_confirmed(Key(Rule.kind, one.id))
        grown = graduate(state, one, confirmed, now, rule, is_claim=is_claim)
        assert confirmed is not None
        return ProposedState(grown, trailers=confirmation_trailers(confirmed.how, confirmed.by, str(key_of(one))))

    return ws.edit("pattern-graduate", now, Pattern, id_, change)
