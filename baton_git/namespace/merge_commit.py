"""Create the merge commit of two commits of a namespace. Every machine creates the same commit, with the same id.

The merge is a pure function of the two commits: the order of the parents does not depend on who merges, the author is
fixed, and the time is that of the later parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from baton_git.core import diff, layout
from baton_git.core.kinds import ALL_KINDS, SINGLETONS
from baton_git.core.merge import NEWEST_RULES, RULES, Decision, add_conflicts, apply, decide
from baton_git.core.merge.decisions import entry_values
from baton_git.core.names import Oid
from baton_git.core.output import one_line
from baton_git.core.records.base import alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import CommitInfo, Edit, Folder, ObjectDraft, Store
from baton_git.git.store.stored_moves import adopt_form
from baton_git.namespace.commit_log import MERGE_RULES, MERGE_SUBJECT, parse_entry, read_revision_number
from baton_git.namespace.file_merge import merge_files, text_at

AUTHOR = "baton-git <baton-git@localhost>"
"""The author of merge commits and of other commits that baton makes automatically."""

LATEST = 1 << 40
"""The largest time, in seconds since 1970, that a merge commit takes from a parent with a wrong clock."""

_SINCE_FIXED_SUBJECT = 3
"""The first version of the merge rules in which the message of a merge commit has a fixed subject."""


class MergeCommit(NamedTuple):
    """A merge commit in an unpublished draft, with its decisions."""

    draft: ObjectDraft
    commit: Oid
    tree: Oid
    decisions: tuple[Decision, ...]
    conflicts: tuple[Conflict, ...]

    @property
    def renamed_ids(self) -> dict[str, str]:
        """The new ids that records got because another record had the same id, by old id."""
        return {
            decision.key.id: decision.to.id for decision in self.decisions if decision.action == "rekey" and decision.to
        }


class MergedTree(NamedTuple):
    tree: Oid
    decisions: tuple[Decision, ...]
    conflicts: tuple[Conflict, ...]


def create_merge_commit(
    store: Store, first_commit: Oid, second_commit: Oid, *, rules: int = NEWEST_RULES
) -> MergeCommit:
    """Merge two commits of a namespace, neither of which is an ancestor of the other.

    Args:
        rules: the version of the merge rules.

    Raises:
        Corrupt: an object of the two commits or of their history cannot be read.
    """
    first, second = sort_parents(store, (first_commit, second_commit))
    base_draft = store.draft()
    base = base_tree(store, base_draft, first_commit, second_commit, rules=rules)
    draft = base_draft.on_top()
    merged = merge_trees(draft, base, first.tree, second.tree, rules=rules)
    # From the parents and not from a clock: all machines must create the same commit, or the merges need merging.
    time = clamp_time(max(first.time, second.time))
    revision = 1 + max(read_revision_number(store, info) for info in (first, second))
    if rules >= _SINCE_FIXED_SUBJECT:
        message = _message(merged, rules, revision)
    else:
        message = _older_message(draft, first.tree, merged, revision)
    commit = draft.commit(merged.tree, (first.oid, second.oid), author=AUTHOR, time=time, timezone=0, message=message)
    return MergeCommit(draft, commit, merged.tree, merged.decisions, merged.conflicts)


def clamp_time(time: int) -> int:
    """Return a time in seconds since 1970, limited to the range from 0 to `LATEST`."""
    return min(max(time, 0), LATEST)


def sort_parents(store: Store, commits: Iterable[Oid]) -> list[CommitInfo]:
    """Return the parents of a merge in their fixed order: by descending revision number, then by commit id."""
    infos = [store.commit(oid) for oid in commits]
    return sorted(infos, key=lambda info: (-read_revision_number(store, info), info.oid))


def base_tree(
    store: Store, draft: ObjectDraft, first_commit: Oid, second_commit: Oid, *, rules: int = NEWEST_RULES
) -> Oid | None:
    """Return the tree of the merge base; several bases are merged, with new objects in `draft`.

    Returns:
        None for unrelated histories.

    Raises:
        Corrupt: an object of the histories cannot be read.
    """
    # Several bases are merged in a fixed order, for the same reason as the parents.
    bases = sort_parents(store, store.merge_bases(first_commit, second_commit))
    if not bases:
        return None
    first, tree = bases[0], bases[0].tree
    for info in bases[1:]:
        common_tree = base_tree(store, draft, first.oid, info.oid, rules=rules)
        tree = merge_trees(draft, common_tree, tree, info.tree, rules=rules).tree
    return tree


def merge_trees(
    draft: ObjectDraft, base: Oid | None, ours: Oid, theirs: Oid, *, rules: int = NEWEST_RULES
) -> MergedTree:
    """Merge the tree `theirs` into `ours`; new objects go into the draft.

    Raises:
        Corrupt: an object that the merge needs cannot be read.
    """
    roots = [draft.folder(tree) for tree in (base, ours, theirs)]
    states = [State(layout.TreeSource(root)) for root in roots]
    decisions = decide(*states, rules=rules)
    files = merge_files(*roots, rules=rules)
    merged = add_conflicts(_restore_immutable(states[0], states[1], apply(states[1], decisions)), files.conflicts)
    conflicts = tuple(_new_conflicts(states[1], merged))
    edits = {**_edits(merged, states[2], roots), **files.edits}
    tree = draft.tree(ours, edits)
    if max(root.version for root in roots) > 1:
        tree = adopt_form(draft, tree, ours, theirs)
    return MergedTree(tree, tuple(decisions), conflicts)


def _restore_immutable(base: State, ours: State, merged: State) -> State:
    """Restore immutable fields to their values in the base if either side changed them."""
    changed = {key for key in (*base.differing(ours), *merged.edits) if ALL_KINDS[key.kind].has_fixed_fields}
    kept, keys = diff.restore_fixed(base, State(merged.source, {key: merged.entry(key) for key in changed}))
    return State(merged.source, {**merged.edits, **{key: kept.edits[key] for key in keys}}) if keys else merged


def _new_conflicts(before: State, after: State) -> Iterator[Conflict]:
    for key, entry in after.edits.items():
        if isinstance(entry, Conflict) and before.entry(key) is None:
            yield entry


def _edits(merged: State, theirs: State, roots: Sequence[Folder]) -> dict[str, Edit]:
    """Return the edits that turn our tree into the merged one. A record taken from theirs keeps its exact bytes."""
    taken = {key for key, entry in merged.edits.items() if entry is not None and theirs.entry(key) is entry}
    new_entries = {key: _shorten_conflict(key, entry, roots) for key, entry in merged.edits.items() if key not in taken}
    paths = [layout.path_of(key) for key in taken]
    return {**{path: roots[2].entry_at(path) for path in paths}, **layout.encode(new_entries, limited=False)}


def _shorten_conflict(key: Key, entry: Entry | None, roots: Sequence[Folder]) -> Entry | None:
    """Return the entry. In a conflict that is too large for a file, replace values with references to stored files."""
    if not isinstance(entry, Conflict) or entry.record_kind not in ALL_KINDS or layout.fits(key, entry):
        return entry
    keys = [Key(entry.record_kind, entry.record_id, old) for old in (False, True)]
    keys = keys[:1] if entry.record_kind in SINGLETONS else keys
    data = entry.as_data()
    for name in {"base", "ours", "theirs"} & data.keys():
        references = [
            reference
            for root in roots
            for key in keys
            if (reference := _find_stored_value(key, root, data[name])) is not None
        ]
        data[name] = references[0] if references else data[name]
    return parse(Conflict, data)


def _find_stored_value(key: Key, root: Folder, value: Any) -> dict[str, str] | None:
    """Return a reference to the file of `key` in a tree if that file holds `value`, else None."""
    path = layout.path_of(key)
    file = root.entry_at(path)
    is_same = file is not None and alike(entry_values(layout.decode(key, path, text_at(root, path))), (value,))
    return {"path": path, "blob": file.oid} if file is not None and is_same else None


def _message(merged: MergedTree, rules: int, revision: int) -> str:
    """Return the message of a merge commit, as described in formats/merge_commit."""
    renamed = sorted(
        f"{layout.path_of(decision.key)} {layout.path_of(decision.to)}"
        for decision in merged.decisions
        if decision.action == "rekey" and decision.to
    )
    lines = [MERGE_SUBJECT, "", "Baton-Op: merge", f"{MERGE_RULES}: {rules}"]
    lines += [f"Baton-Renamed: {paths}" for paths in renamed]
    lines += [f"Baton-Conflict: {id_}" for id_ in sorted(conflict.id for conflict in merged.conflicts)]
    return "\n".join([*lines, f"Baton-Revision: {revision}", ""])


def _older_message(draft: ObjectDraft, first_tree: Oid, merged: MergedTree, revision: int) -> str:
    """Return the message of a merge commit under versions 1 and 2 of the merge rules, which describes the changes."""
    before = State(layout.TreeSource(draft.folder(first_tree)))
    after = State(layout.TreeSource(draft.folder(merged.tree)))
    subject = diff.commit_subject(diff.diff(before, after))
    trailers = [("Baton-Op", "merge")]
    trailers += [
        ("Baton-Renamed", f"{decision.key} → {decision.to.id}")
        for decision in merged.decisions
        if decision.action == "rekey" and decision.to
    ]
    trailers += [("Baton-Conflict", conflict.id) for conflict in merged.conflicts]
    return f"merge: {subject}\n\n{format_trailers(trailers)}Baton-Revision: {revision}\n"


def format_trailers(trailers: list[tuple[str, str]]) -> str:
    return "".join(f"{name}: {one_line(value, 200)}\n" for name, value in trailers)


def is_root(store: Store, info: CommitInfo) -> bool:
    """Return whether a commit is the root commit that all namespaces share."""
    roots = (layout.ROOT_FILES, *layout.OLDER_ROOTS)
    return not info.parents and any(info.tree == store.draft().tree(None, files) for files in roots)


def is_automatic_merge(store: Store, info: CommitInfo) -> bool:
    """Return whether a commit is exactly the one that baton creates when it merges the parents automatically.

    All versions of the merge rules that give the subject of this commit are tried.
    """
    entry = parse_entry(info)
    if len(info.parents) != 2 or entry.op != "merge":
        return False
    return any(
        create_merge_commit(store, *info.parents, rules=rules).commit == info.oid
        for rules in RULES
        if (rules >= _SINCE_FIXED_SUBJECT) == (entry.subject == MERGE_SUBJECT)
    )
