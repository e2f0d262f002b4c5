"""Three states into one, by record id, then by field, by the rule that each field declares.

`decide` says what to do as data, `apply` does it. Neither knows git or bytes. Where both sides changed one
value in different ways and its rule cannot combine them, one of them stands for now and both are kept in a
`Conflict`; nothing is ever dropped. Unless somebody is preferred, all is chosen by value: it does not matter which
side is called ours.
"""

from baton_git.core.merge.applying import apply, conflict, conflicts_of, with_conflicts
from baton_git.core.merge.deciding import decide
from baton_git.core.merge.decisions import NEWEST_RULES, RULES, ContestedValue, Decision, Prefer
from baton_git.core.merge.fields import merge_fields
from baton_git.core.merge.lineages import are_two, same
from baton_git.core.merge.lines import merge_lines
from baton_git.core.merge.recordings import take_off_entries, without_counts

__all__ = [
    "NEWEST_RULES",
    "RULES",
    "ContestedValue",
    "Decision",
    "Prefer",
    "apply",
    "are_two",
    "conflict",
    "conflicts_of",
    "decide",
    "merge_fields",
    "merge_lines",
    "same",
    "take_off_entries",
    "with_conflicts",
    "without_counts",
]
