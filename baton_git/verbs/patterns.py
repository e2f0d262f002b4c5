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
from baton_git.namespace.commit_log import confirmation
from baton_git.namespace.revision import Proposal, Version
from baton_git.namespace.workspace import Made, Workspace, fresh_id, need


def record_pattern(
    ws: Workspace,
    now: datetime,
    *,
    what: str,
    context: str = "",
    rule: str | None = None,
    id_: str | None = None,
    tier: str | None = None,
) -> Made:
    """One more occurrence of a pattern, or a new pattern.

    A pattern is known again by its id, or by its words (case and spacing aside).

    Raises:
        InvalidDocument: a value does not fit its field.
    """
    need(what, "pattern")
    fresh = fresh_id(KINDS[Pattern.kind].prefix) if id_ is None else id_

    def change(tip: Version) -> State:
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
    return Made(known.id if known else fresh, written)


def _known(state: State, what: str, id_: str | None) -> Pattern | None:
    words = _words(redact_text(what)[0])  # as it was stored
    for pattern in state.records(Pattern):
        if pattern.id in (id_, what) or (id_ is None and _words(pattern.what) == words):
            return pattern
    return None


def _words(text: str) -> list[str]:
    return text.casefold().split()


def propose_rule(ws: Workspace, now: datetime, id_: str, rule: str) -> Made:
    need(rule, "rule")
    return ws.edit("pattern-propose", now, Pattern, id_, lambda state, one: state.put(proposed(one, rule)))


def dismiss_pattern(ws: Workspace, now: datetime, id_: str) -> Made:
    return ws.edit("pattern-dismiss", now, Pattern, id_, lambda state, one: state.put(dismissed(one)))


def graduate_pattern(
    ws: Workspace, now: datetime, id_: str, confirmed: Confirmed | None, *, rule: str | None = None
) -> Made:
    """The pattern becomes the rule `rules/<id>.md`.

    Raises:
        NeedsHuman: `confirmed` is None.
        NotAllowed: the pattern is no candidate.
    """

    def change(state: State, one: Pattern) -> Proposal:
        is_claim = not ws.judgement().is_confirmed(Key(Rule.kind, one.id))
        grown = graduate(state, one, confirmed, now, rule, is_claim=is_claim)
        assert confirmed is not None
        return Proposal(grown, trailers=confirmation(confirmed.how, confirmed.by, str(key_of(one))))

    return ws.edit("pattern-graduate", now, Pattern, id_, change)
