"""Questions for a class of things of which many sessions have one: `which bugs did we fix`, `my preferences`.

A session seldom names the class: it says that something crashed and is fixed, not that this is a bug. So words that are
usual for such a thing count as well, and the answer has a line of each session instead of two sessions at length.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.recall.terms import Query, stem


class _Class(NamedTuple):
    """A class of things.

    Attributes:
        names: how it is called, in the plural.
        question: a pattern for other questions that mean it.
        signs: other words and phrases of texts about such a thing, in the singular or in any form of a verb.
        kinds: the kinds of records that are such things.
        statuses: the statuses of such records that come before others; empty: all of live records.
    """

    names: frozenset[str]
    question: str
    signs: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    statuses: frozenset[str] = frozenset()


_UNSETTLED = frozenset({"open", "failed", "escalated"})
"""The statuses of open loops about which something is left to do."""
_LEAD = (
    r"(?:(?:please|can|could|you|list|show|tell|give|me|us|what|which|are|were|is|there|how many|any|all|the|our|my"
    r"|known|recent|about) )*"
)
"""Words before the name of a class of two words."""

_CLASSES = (
    _Class(
        frozenset(),
        _LEAD + r"(?:failed|failing|broken|unsuccessful) (?:open )?(?:checks?|loops?|verifications?)\b"
        r"|" + _LEAD + r"(?:open )?(?:checks?|loops?|verifications?)"
        r" (?:(?:that|which|have|has|are|is) )*fail(?:ed|s|ing)?\b",
        ("failed", "did not pass", "still fails"),
        (OpenLoop.kind,),
        frozenset({"failed"}),
    ),
    _Class(
        frozenset(),
        _LEAD + r"(?:recurring|repeated|repeating|recurrent|frequent)"
        r" (?:problems?|issues?|errors?|mistakes?|bugs?|faults?|failures?|patterns?)\b"
        r"|what (?:keeps|kept) (?:going wrong|failing|breaking|happening|coming back)",
        ("recurring", "every time", "yet again", "once more", "keeps", "same mistake"),
        (Pattern.kind,),
    ),
    _Class(
        frozenset(),
        _LEAD + r"(?:open|unanswered|unresolved|pending|outstanding) questions?\b"
        r"|what (?:is|was) (?:still )?(?:unanswered|unclear|undecided)",
        (
            "open questions", "unanswered", "unclear", "undecided", "should i", "shall i", "should we", "do you want",
            "would you like", "do you prefer", "let me know", "please confirm",
        ),
    ),
    _Class(
        frozenset({"bugs", "errors", "defects", "crashes", "failures", "faults", "problems", "issues", "regressions"}),
        r"what (?:all )?(?:went wrong|broke|has broken|was broken|failed)",
        (
            "failed", "broke", "broken", "wrong", "fix", "root cause", "caused by", "leak", "corrupted", "slow",
            "duplicate", "not working", "doesn t work", "flaky", "hang", "incorrect",
        ),
    ),
    _Class(
        frozenset({"preferences", "likes", "dislikes", "habits", "tastes", "conventions"}),
        r"(?:how|what) (?:do|would|did) (?:i|we) (?:like|prefer|usually|always|want)"
        r"|what (?:does|do) (?:the |this )?(?:user|developer|team|person)s? (?:like|prefer|want)",
        (
            "prefer", "i like", "like to", "i don t like", "i d rather", "i would rather", "i hate",
            "don t want", "always", "never", "please don t", "from now on", "keep in mind", "not a fan",
        ),
    ),
    _Class(
        frozenset({"decisions", "choices", "agreements"}),
        r"what (?:did|have) (?:we|i) (?:decide|decided|agree|agreed|choose|chosen)"
        r"|what (?:was|were|has been|have been) (?:decided|agreed|chosen)",
        (
            "decide", "chose", "choose", "agree", "settled on", "went with", "go with", "opted",
            "rejected", "in favour of", "in favor of", "switched to", "trade off",
        ),
        (ActiveDecision.kind,),
    ),
    _Class(
        frozenset({"lessons", "learnings", "gotchas", "pitfalls", "mistakes", "traps", "caveats"}),
        r"what (?:did|have) (?:we|i) (?:learn|learned|learnt)",
        (
            "learned", "watch out", "beware", "next time",
            "for future reference", "keep in mind", "should have", "turns out",
        ),
        (Pattern.kind,),
    ),
    _Class(
        frozenset({"todo", "todos", "chores", "leftovers"}),
        r"what (?:is|was|has been) (?:left to do|left open|postponed|put off|still to do)",
        ("to do", "pending", "remaining", "next step", "not yet", "later", "follow up", "postponed", "left"),
        (FollowUp.kind, OpenLoop.kind),
        _UNSETTLED,
    ),
)  # fmt: skip
_ASKS = re.compile(
    r"(?:please |(?:can|could|would) you )?"
    r"(?:(?:list|show|name|tell|give|remind|recall|summari[sz]e)\b(?: me| us)?(?: of| about)? )?"
    r"(?:what|which|all|any|every|my|our|how many|(?:are|were) there|(?:do|did) we have|list)\b"
)
"""The beginning of a question that may be for a class; `why`, `when` and `how` ask for one thing."""
_ALONE = re.compile(
    r"(?:(?:the|known|open|recent|past|old|all|list|show) )*(?P<name>\w+)(?: (?:in|of|about|with|for|on|so far)\b.*)?"
)
"""The name of a class alone, or with its subject."""
_SIGN = 0.5
"""Weight of a sign beside the names of the class."""
_NEAR = 8
"""The number of words at the beginning of a question among which is the name of the class that it is for."""
_LISTED = re.compile(
    r"(?:please )?(?:list|enumerate)\b(?! \w+$)|(?:list )?all (?:the |our |my )?\w+s\b|how many \w+s\b"
)
"""The beginning of a question for any class, whose name alone is searched."""


def expand_class(question: str, query: Query) -> Query:
    """Return the query of a question with the signs of the class that it is for; unchanged if it is for none."""
    text = " ".join(re.findall(r"\w+", question.lower()))
    for one in _CLASSES:
        if names := _find_names(one, text):
            words = frozenset(word for word in query.words if word in names or word in one.signs)
            signs = {f'"{name}"': 1.0 for name in sorted(one.names - query.words.keys())}
            signs |= {f'"{sign}"': _SIGN for sign in one.signs if sign not in query.words}
            terms = query.terms | {stem(sign) for sign in (*one.names, *one.signs) if " " not in sign}
            found = query._replace(signs=signs, class_words=words, class_kinds=one.kinds, terms=terms, is_list=True)
            return found._replace(class_statuses=one.statuses)
    return query._replace(is_list=_LISTED.match(text) is not None)


def _find_names(one: _Class, text: str) -> frozenset[str]:
    """Return words that name a class in a question; none if the question is not for that class."""
    if asked := re.match(one.question, text):
        return frozenset(asked[0].split())
    alone = _ALONE.fullmatch(text)
    if alone is not None and alone["name"] in one.names:
        return one.names
    return one.names if one.names & set(text.split()[:_NEAR]) and _ASKS.match(text) else frozenset()
