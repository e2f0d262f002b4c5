"""Check every commit of a history for lost writes, so that the first faulty commit is identified.

Each word such as `K00012q` is written once. A merge must contain all words that either side added, and those that
both sides have. A commit with one parent may drop words only if its verb is one that removes data. A count must be
the sum of the counted occurrences.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from baton_git.core.kinds import KINDS
from baton_git.core.layout import state_of
from baton_git.core.merge.decisions import record_data
from baton_git.core.names import Oid
from baton_git.core.records.base import Part
from baton_git.core.state import Key
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.commit_log import parse_entry

WORD = re.compile(rb"[KL]\d{5}q")
COUNTS = {"follow_up": ("defer_count", 0), "pattern": ("count", 1)}
GOING_BACK = {"rollback", "rollback-record", "rollback-session", "undo", "redo", "resolve", ""}
"""Verbs that remove data; the empty name is for commits that a person made by hand."""
REPLACING = {"wrap", "followup-defer", "pattern-propose", "pattern-record"}
"""Verbs that replace earlier words by later ones."""
DOCUMENTS = {"write", "import"}
"""Verbs that replace whole records with the same id; records that a document leaves out are archived."""

Title = tuple[str, str]


class History:
    """The commits of one store, each read only once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._words: dict[Oid, frozenset[bytes]] = {}
        self._counts: dict[Oid, dict[Title, list[int]]] = {}
        self._fine: set[Oid] = set()

    # --- words

    def check(self, tip: Oid | None) -> None:
        """Raise AssertionError if a commit of the history lost a word."""
        if tip is None or tip in self._fine:
            return
        for info in self.store.log(tip):
            if info.oid not in self._fine:
                lost = self._lost(info)
                assert not lost, f"{info.oid} lost {sorted(lost)}: {info.message}"
                self._fine.add(info.oid)

    def words(self, commit: Oid) -> frozenset[bytes]:
        return self._words_below(self.store.commit(commit).tree)

    def _words_below(self, tree: Oid) -> frozenset[bytes]:
        if tree not in self._words:
            found: set[bytes] = set()
            folder = self.store.folder(tree)
            for item in folder.entries().values():
                if item.is_folder:
                    found |= self._words_below(item.oid)
                elif item.oid in self._words:
                    found |= self._words[item.oid]
                else:
                    self._words[item.oid] = frozenset(WORD.findall(self.store.read(item.oid)))
                    found |= self._words[item.oid]
            self._words[tree] = frozenset(found)
        return self._words[tree]

    def _lost(self, info: CommitInfo) -> frozenset[bytes]:
        if len(info.parents) == 2:
            return self._owed(info) - self._words_below(info.tree)
        op = parse_entry(info).op
        if not info.parents or op in GOING_BACK | DOCUMENTS:
            return frozenset()
        gone = self.words(info.parents[0]) - self._words_below(info.tree)
        return frozenset(word for word in gone if not word.startswith(b"L")) if op in REPLACING else gone

    def _owed(self, info: CommitInfo) -> frozenset[bytes]:
        one, other = (self.words(parent) for parent in info.parents)
        before = frozenset().union(*(self.words(base) for base in self.store.merge_bases(*info.parents)))
        return (one & other) | ((one | other) - before)

    # --- counts

    def check_counts(self, tip: Oid) -> int:
        """Raise AssertionError if a predictable count is not the sum of the counted occurrences; return how many counts
        were checked."""
        unclear = {title for info in self.store.log(tip) for title in self._unclear(info)}
        sums = self._sums(tip)
        plain = {title: found[0] for title, found in self.counts(tip).items() if title not in unclear}
        wrong = [title for title in plain if plain[title] != sums[title]]
        assert not wrong, self._wrong_at(tip, wrong[0])
        return len(plain)

    def _unclear(self, info: CommitInfo) -> set[Title]:
        """Return the records with an unpredictable count: duplicated, removed, reverted, or added on both sides."""
        after = self.counts(info.oid)
        twice = {title for title, found in after.items() if len(found) > 1}
        if len(info.parents) == 1:
            before = self.counts(info.parents[0])
            gone = before.keys() - after.keys()
            both = before.keys() & after.keys()
            back = {title for title in both if after[title][0] < before[title][0]}
            if parse_entry(info).op in DOCUMENTS:  # its writer may have read counts that others wrote after its base
                back |= {title for title in both if after[title] != before[title]}
            return twice | gone | back | (after.keys() - before.keys() if gone else set())  # perhaps with another title
        sides = [self.counts(parent) for parent in info.parents]
        bases = [self.counts(base) for base in self.store.merge_bases(*info.parents)] if sides else []
        both = sides[0].keys() & sides[1].keys() if sides else set()
        return twice | {title for title in both if not any(title in base for base in bases)}

    def _sums(self, tip: Oid) -> Counter[Title]:
        sums: Counter[Title] = Counter()
        for info in self.store.log(tip):
            if len(info.parents) == 1:
                before = self.counts(info.parents[0])
                for title, found in self.counts(info.oid).items():
                    sums[title] += found[0] - before.get(title, [0])[0]
        return sums

    def _wrong_at(self, tip: Oid, title: Title) -> str:
        for info in reversed(list(self.store.log(tip))):
            if title in self.counts(info.oid) and self.counts(info.oid)[title][0] != self._sums(info.oid)[title]:
                bases = self.store.merge_bases(*info.parents) if len(info.parents) == 2 else []
                places = (info.oid, *info.parents, *bases)
                found = [(one[:8], self.counts(one).get(title)) for one in places]
                return f"{title}: {self._sums(info.oid)[title]} counted, but {found}: {info.message}"
        return f"{title} in no commit of {tip}"

    def counts(self, commit: Oid) -> dict[Title, list[int]]:
        if commit not in self._counts:
            found: dict[Title, list[int]] = {}
            for title, part in self.records(commit):
                if title[0] in COUNTS:
                    name, default = COUNTS[title[0]]
                    found.setdefault(title, []).append(int(record_data(part).get(name, default)))
            self._counts[commit] = found
        return self._counts[commit]

    def records(self, commit: Oid) -> Iterator[tuple[Title, Part]]:
        """Return all readable records, live and closed, by kind and title."""
        state = state_of(self.store.folder(self.store.commit(commit).tree))
        for kind, field in [(info.kind, info.about) for info in KINDS.values() if info.about]:
            for archived in (False, True):
                for id_ in state.ids(kind, archived=archived):
                    entry = state.entry(Key(kind, id_, archived))
                    if isinstance(entry, Part):
                        yield (kind, str(record_data(entry).get(field))), entry

    def rules(self, commit: Oid) -> set[str]:
        """Return the titles of the patterns that became rules."""
        patterns = [(title, record_data(part)) for (kind, title), part in self.records(commit) if kind == "pattern"]
        return {title for title, data in patterns if data.get("status") == "graduated"}
