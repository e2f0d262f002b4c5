"""Match the records of three states and decide how to merge each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from baton_git.core.kinds import KINDS
from baton_git.core.layout import fits
from baton_git.core.merge.decisions import (
    NEWEST_RULES,
    ContestedValue,
    Decision,
    Prefer,
    canonical_json,
    entry_values,
    frame_json,
    ordered_json,
    record_data,
)
from baton_git.core.merge.fields import graduation_winner, merge_fields
from baton_git.core.merge.lineages import (
    MergeSide,
    Placement,
    are_different_records,
    assign_ids,
    compare_side,
    compare_side_at,
    identical,
    replace_id,
    same,
)
from baton_git.core.records.base import Archived, Part, parse
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Entry, Key, State, Unreadable


def decide(
    base: State, ours: State, theirs: State, *, prefer: Prefer | None = None, rules: int = NEWEST_RULES
) -> list[Decision]:
    """Return the decisions that merge `theirs` into `ours`; records that only ours changed need no decision.

    Args:
        base: the state of the merge base.
        ours: the state to merge into.
        theirs: the state to merge.
        prefer: the side that wins conflicts. With a preferred side, our records also keep their ids. None: conflicts
            are decided by value.
        rules: the version of the merge rules.
    """
    changed = frozenset(base.differing(theirs))
    if not changed:
        return []
    our_side = compare_side_at(base, ours, {*changed, *(_pattern_of(key) for key in changed if _is_rule(key))})
    merger = _Merger(base, our_side, compare_side(base, theirs), changed, prefer, rules)
    return list(assign_ids(ours, theirs, merger.place_rules(list(merger.placements())), prefer))


@dataclass(frozen=True)
class _Merger:
    base: State
    ours: MergeSide
    theirs: MergeSide
    changed: frozenset[Key]
    """The keys that may differ between the base and theirs."""
    prefer: Prefer | None
    rules: int

    def placements(self) -> Iterator[Placement]:
        """Yield a placement for every record that theirs changed, or that ours moved to a key that theirs changed."""
        moved = {key for key, new_key in self.ours.moves.items() if new_key in self.changed}
        for key in sorted(self.changed | moved):
            if not self.ours.is_changed(key) and key not in self.theirs.moves and key not in self.theirs.arrived:
                yield Placement(key, self.theirs.state.entry(key), key, "take", key)
                continue
            was = self.base.entry(key)
            if was is not None:
                yield self._merge_known(key, was)
            yield from self._merge_added(key, was)

    def _merge_known(self, key: Key, was: Entry) -> Placement:
        """Return the placement of a record that exists in the base."""
        here, there = self.ours.current_key(key), self.theirs.current_key(key)
        ours, theirs = self.ours.state.entry(here), self.theirs.state.entry(there)
        ours_unchanged, theirs_unchanged = here == key and same(ours, was), there == key and same(theirs, was)
        if theirs_unchanged and (not ours_unchanged or identical(theirs, was)):
            return Placement(key, ours, here, "keep", here)
        if ours_unchanged and (not theirs_unchanged or identical(ours, was)):
            return Placement(key, theirs, there, "take", here)
        new_keys = [new_key for new_key in (here, there) if new_key != key]
        if same(ours, theirs):
            return _keep_alike(key, ours, theirs)._replace(to=min(new_keys, default=key), here=here)
        placement = self._merge_both(key, was, ours, theirs)
        closed = isinstance(placement.entry, Archived)
        to = min((new_key for new_key in new_keys if new_key.archived == closed), default=key)
        return _place_at(to, placement._replace(here=here))

    def _merge_added(self, key: Key, was: Entry | None) -> Iterator[Placement]:
        """Yield the placements of the records that each side added at `key`."""
        ours, theirs = self.ours.new_entry(key, was), self.theirs.new_entry(key, was)
        if theirs is None:
            yield from [Placement(key, ours, key, "keep", key, is_new=True)] if ours is not None else []
        elif same(ours, theirs):
            yield _keep_alike(key, ours, theirs)._replace(is_new=True)
        elif ours is None:
            yield Placement(key, theirs, key, "take", None, is_new=True)
        elif isinstance(ours, Part) and isinstance(theirs, Part) and are_different_records(key.kind, ours, theirs):
            yield Placement(key, ours, key, "keep", key, is_new=True)
            yield Placement(key, theirs, key, "take", None, is_new=True)
        else:
            yield self._merge_both(key, None, ours, theirs)._replace(is_new=True)

    def _merge_both(self, key: Key, was: Entry | None, ours: Entry | None, theirs: Entry | None) -> Placement:
        """Return the placement of a record that both sides changed in different ways."""
        if isinstance(ours, Part) and isinstance(theirs, Part):
            placement = _merge_records(key, (was, ours, theirs), self.prefer, self.rules)
            assert placement.entry is not None
            if fits(key._replace(archived=isinstance(placement.entry, Archived)), placement.entry):
                return placement
            chosen: Entry | None = self._choose_record(key, was, ours, theirs)
        else:
            chosen = _choose_readable(ours, theirs, self.prefer)
        contested = self._contest_record(was, ours, theirs, "ours" if chosen is ours else "theirs")
        return Placement(key, chosen, key, "keep" if chosen is ours else "merge", key, (contested,))

    def _choose_record(self, key: Key, was: Entry | None, ours: Part, theirs: Part) -> Part:
        """Choose one of two records whose merge is too large to store.

        For a pattern, the side whose graduation wins comes first; then the preferred side, a record that fits, and the
        larger by value.
        """
        winner = None
        if key.kind == Pattern.kind:
            sides = [record_data(entry) if isinstance(entry, Part) else {} for entry in (was, ours, theirs)]
            winner = graduation_winner(sides[0], sides[1], sides[2], self.prefer, one_sided=True)
        if winner is not None or self.prefer is not None:
            return ours if (winner or self.prefer) == "ours" else theirs
        return max(
            ours,
            theirs,
            key=lambda record: (fits(key, record), canonical_json(record.as_data()), ordered_json(record.as_data())),
        )

    def _contest_record(
        self, was: Entry | None, ours: Entry | None, theirs: Entry | None, winner: Prefer
    ) -> ContestedValue:
        """Return the contested value of a conflict between whole records."""
        first, second = entry_values(ours), entry_values(theirs)
        if self.prefer is None:
            return ContestedValue(
                "", entry_values(was), *((first, second) if winner == "ours" else (second, first)), "ours"
            )
        return ContestedValue("", entry_values(was), first, second, winner)

    def place_rules(self, placements: list[Placement]) -> list[Placement]:
        """Return the placements with each rule taken from the side whose graduation of the pattern wins."""
        # A rule that only ours changed needs no decision, unless theirs changed the graduation of its pattern.
        deciding = (key for key in self.changed if key.kind in (Rule.kind, Pattern.kind) and not key.archived)
        keys = {Key(Rule.kind, key.id) for key in deciding}
        rules = [
            self._place_rule(key, winner) for key in sorted(keys) if (winner := self._rule_winner(key)) is not None
        ]
        held = {rule.key for rule in rules}
        return [placement for placement in placements if placement.key not in held] + rules

    def _rule_winner(self, rule: Key) -> Prefer | None:
        """Return the side whose rule wins; None if the graduation of its pattern does not decide that."""
        our_rule, their_rule, was = (side.entry(rule) for side in (self.ours.state, self.theirs.state, self.base))
        if same(our_rule, their_rule):
            return None
        key = _pattern_of(rule)
        here, there = (side.state.entry(side.current_key(key)) for side in (self.ours, self.theirs))
        base = self.base.entry(key)
        if (
            not isinstance(here, Part)
            or not isinstance(there, Part)
            or (base is None and are_different_records(key.kind, here, there))
        ):
            return None
        before = record_data(base) if isinstance(base, Part) else {}
        both_changed = not same(our_rule, was) and not same(their_rule, was)
        return graduation_winner(before, record_data(here), record_data(there), self.prefer, one_sided=both_changed)

    def _place_rule(self, key: Key, winner: Prefer) -> Placement:
        our_rule, their_rule = self.ours.state.entry(key), self.theirs.state.entry(key)
        contested = self._contest_record(self.base.entry(key), our_rule, their_rule, winner)
        entry = our_rule if winner == "ours" else their_rule
        return Placement(key, entry, key, "keep" if entry is our_rule else "take", key, (contested,))


def _is_rule(key: Key) -> bool:
    return key.kind == Rule.kind and not key.archived


def _pattern_of(rule: Key) -> Key:
    """Return the key of the pattern from which a rule was graduated."""
    return Key(Pattern.kind, rule.id)


def _keep_alike(key: Key, ours: Entry | None, theirs: Entry | None) -> Placement:
    """Return the placement of two equal entries; if they are written differently, choose by value, not by side."""
    chosen = min((ours, theirs), key=lambda entry: ordered_json(entry_values(entry)))
    return Placement(key, chosen, key, "keep" if chosen is ours else "take", key)


def _place_at(to: Key, placement: Placement) -> Placement:
    """Return the placement at `to`. The entry's id becomes that of the key; a differing id is not a conflict."""
    entry = placement.entry if to.archived or placement.entry is None else replace_id(placement.entry, to.id, "")
    return placement._replace(
        to=to, entry=entry, contested=tuple(value for value in placement.contested if value.field != "id")
    )


def _choose_readable(ours: Entry | None, theirs: Entry | None, prefer: Prefer | None) -> Entry | None:
    """Choose between two entries, at least one of them unreadable or absent.

    A record wins over an unreadable file, and anything over an absent entry. Of two unreadable files, the larger by
    value wins. With a preferred side, ours wins if it exists, because an unreadable file is never overwritten.
    """
    if ours is None or theirs is None:
        return ours if theirs is None else theirs
    if prefer is not None:
        return ours
    if isinstance(ours, Unreadable) and isinstance(theirs, Unreadable):
        return max(ours, theirs, key=lambda entry: (entry.content(), entry.why))
    return ours if isinstance(ours, Part) else theirs


def _merge_records(key: Key, entries: tuple[Entry | None, Part, Part], prefer: Prefer | None, rules: int) -> Placement:
    """Merge two records by field. A record that one side archived and the other edited is archived with the edit."""
    was, ours, theirs = entries
    model = type(ours) if not isinstance(ours, Archived) else type(theirs)
    if model is Archived:
        model = KINDS[key.kind].model
    base = record_data(was) if isinstance(was, Part) else None
    sides = base, record_data(ours), record_data(theirs)
    data, contested = merge_fields(model, *sides, prefer, rules)
    frames = [entry for entry in (ours, theirs) if isinstance(entry, Archived)]
    # The closing (time, reason, session) of the only side that changed it, else the earlier one.
    changed = [frame for frame in frames if frame_json(frame) != frame_json(was)] or frames
    frame = min(
        changed,
        key=lambda frame: (frame.at, canonical_json(frame.as_data()), ordered_json(frame.as_data())),
        default=None,
    )
    entry: Part = frame.replace(record=data) if frame is not None else parse(model, data)
    return Placement(key, entry, key, "merge", key, tuple(contested))
