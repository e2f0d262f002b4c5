"""Three-way merge of states: records are matched by id, and their fields are merged by the rules that they declare.

`decide` returns the decisions as data, and `apply` carries them out. Both work on states only, without git. If both
sides changed a value differently and its rule cannot combine the changes, one value wins and a `Conflict` records both,
so that no value is lost. Without a preferred side, winners are chosen by value: swapping the two sides gives the same
result.
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
