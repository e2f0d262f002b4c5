"""Three-way merge of states: records are matched by id, and their fields are merged by the rules that they declare.

`decide` returns the decisions as data, and `apply` carries them out. Both work on states only, without git. If both
sides changed a value differently and its rule cannot combine the changes, one value wins and a `Conflict` records both,
so that no value is lost. Without a preferred side, winners are chosen by value: swapping the two sides gives the same
result.
"""

from baton_git.core.merge.combining import merge_lines
from baton_git.core.merge.deciding import decide
from baton_git.core.merge.decisions import (
    NEWEST_RULES,
    RULES,
    ContestedValue,
    Decision,
    Prefer,
    add_conflicts,
    apply,
    list_conflicts,
    make_conflict,
)
from baton_git.core.merge.fields import merge_fields
from baton_git.core.merge.lineages import are_different_records, clear_counts, remove_reverted_entries, same

__all__ = [
    "NEWEST_RULES",
    "RULES",
    "ContestedValue",
    "Decision",
    "Prefer",
    "add_conflicts",
    "apply",
    "are_different_records",
    "clear_counts",
    "decide",
    "list_conflicts",
    "make_conflict",
    "merge_fields",
    "merge_lines",
    "remove_reverted_entries",
    "same",
]
