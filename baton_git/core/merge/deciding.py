"""Which record of three states belongs to which, and what becomes of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from baton_git.core.kinds import KINDS
from baton_git.core.layout import fits
from baton_git.core.merge.decisions import (
    ContestedValue,
    Decision,
    Prefer,
    canonical_json,
    entry_values,
    ordered_json,
    record_data,
)
from baton_git.core.merge.fields import merge_fields
from baton_git.core.merge.graduation import graduation_winner
from baton_git.core.merge.id_assignment import Placement, assign_ids, with_id
from baton_git.core.merge.lineages import MergeSide, are_two, compare_side, identical, same
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, parse
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Entry, Key, State, Unreadable


def decide(base: State, ours: State, theirs: State, *, prefer: Prefer | None = None) -> list[Decision]:
    """How `theirs` comes into `ours`, given that both grew from `base`. What only ours changed needs no decision.

    Args:
        prefer: whose value stands where one is contested; our records keep their ids then. None: by value.
    """
    their_side = compare_side(base, theirs)
    if not their_side.changed:
        return []
    merger = _Merger(base, compare_side(base, ours), their_side, prefer)
    return list(assign_ids(ours, theirs, merger.with_rules(list(merger.wishes())), prefer))


@dataclass(frozen=True)
class _Merger:
    base: State
    ours: MergeSide
    theirs: MergeSide
    prefer: Prefer | None

    def wishes(self) -> Iterator[Placement]:
        """For every record that theirs changed, or that may stand in the way of one: what becomes of it, and where."""
        moved = {key for key, place in self.ours.moves.items() if place in self.theirs.changed}
        for key in sorted(self.theirs.changed | moved):
            if self._is_theirs_alone(key):
                yield Placement(key, self.theirs.state.entry(key), key, "take", key)
                continue
            was = self.base.entry(key)
            if was is not None:
                yield self._follow(key, was)
            yield from self._additions(key, was)

    def _is_theirs_alone(self, key: Key) -> bool:
        return key not in self.ours.changed and key not in self.theirs.moves and key not in self.theirs.arrived

    def _follow(self, key: Key, was: Entry) -> Placement:
        """One record that the base has."""
        here, there = self.ours.place(key), self.theirs.place(key)
        ours, theirs = self.ours.state.entry(here), self.theirs.state.entry(there)
        stays = here == key and same(ours, was), there == key and same(theirs, was)
        if stays[1] and (not stays[0] or identical(theirs, was)):
            return Placement(key, ours, here, "keep", here)
        if stays[0] and (not stays[1] or identical(ours, was)):
            return Placement(key, theirs, there, "take", here)
        places = [place for place in (here, there) if place != key]
        if same(ours, theirs):
            return _keep_alike(key, ours, theirs)._replace(to=min(places, default=key), here=here)
        wish = self._both(key, was, ours, theirs)
        closed = isinstance(wish.entry, Archived)
        to = min((place for place in places if place.archived == closed), default=key)
        return _place_at(to, wish._replace(here=here))

    def _additions(self, key: Key, was: Entry | None) -> Iterator[Placement]:
        """What each side put at `key` anew."""
        ours, theirs = self.ours.new_entry(key, was), self.theirs.new_entry(key, was)
        if theirs is None:
            yield from [Placement(key, ours, key, "keep", key, is_new=True)] if ours is not None else []
        elif same(ours, theirs):
            yield _keep_alike(key, ours, theirs)._replace(is_new=True)
        elif ours is None:
            yield Placement(key, theirs, key, "take", None, is_new=True)
        elif isinstance(ours, Part) and isinstance(theirs, Part) and are_two(key.kind, ours, theirs):
            yield Placement(key, ours, key, "keep", key, is_new=True)
            yield Placement(key, theirs, key, "take", None, is_new=True)
        else:
            yield self._both(key, None, ours, theirs)._replace(is_new=True)

    def _both(self, key: Key, was: Entry | None, ours: Entry | None, theirs: Entry | None) -> Placement:
        """What becomes of a record that both sides changed, differently."""
        if isinstance(ours, Part) and isinstance(theirs, Part):
            wish = _merge_records(key, was, ours, theirs, self.prefer)
            assert wish.entry is not None
            if fits(key._replace(archived=isinstance(wish.entry, Archived)), wish.entry):
                return wish
            stands: Entry | None = self._one_of(key, was, ours, theirs)
        else:
            stands = _choose_readable(ours, theirs, self.prefer)
        loser = self._whole(was, ours, theirs, "ours" if stands is ours else "theirs")
        return Placement(key, stands, key, "keep" if stands is ours else "merge", key, (loser,))

    def _one_of(self, key: Key, was: Entry | None, ours: Part, theirs: Part) -> Part:
        """Of two records that make one too large to be stored: the one that fits, else as if they were one value."""
        word = None
        if key.kind == Pattern.kind:
            sides = [record_data(entry) if isinstance(entry, Part) else {} for entry in (was, ours, theirs)]
            word = graduation_winner(sides[0], sides[1], sides[2], self.prefer, one_sided=True)
        if word is not None or self.prefer is not None:
            return ours if (word or self.prefer) == "ours" else theirs
        return max(
            ours,
            theirs,
            key=lambda record: (fits(key, record), canonical_json(record.as_data()), ordered_json(record.as_data())),
        )

    def _whole(self, was: Entry | None, ours: Entry | None, theirs: Entry | None, winner: Prefer) -> ContestedValue:
        """Return the conflict about a record as a whole."""
        first, second = entry_values(ours), entry_values(theirs)
        if self.prefer is None:
            return ContestedValue(
                "", entry_values(was), *((first, second) if winner == "ours" else (second, first)), "ours"
            )
        return ContestedValue("", entry_values(was), first, second, winner)

    def with_rules(self, wishes: list[Placement]) -> list[Placement]:
        """The rule that a pattern became goes with its graduation: it is that of the side whose word stands."""
        keys = {key for key in (*self.ours.changed, *self.theirs.changed) if key.kind == Rule.kind and not key.archived}
        rules = [self._rule(key, stands) for key in sorted(keys) if (stands := self._word(key)) is not None]
        held = {rule.key for rule in rules}
        return [wish for wish in wishes if wish.key not in held] + rules

    def _word(self, rule: Key) -> Prefer | None:
        """Whose rule stands, where the two cannot be merged because their graduations are not the same."""
        our_rule, their_rule, was = (side.entry(rule) for side in (self.ours.state, self.theirs.state, self.base))
        if same(our_rule, their_rule):
            return None
        key = Key(Pattern.kind, rule.id)
        here, there = (side.state.entry(side.place(key)) for side in (self.ours, self.theirs))
        base = self.base.entry(key)
        if (
            not isinstance(here, Part)
            or not isinstance(there, Part)
            or (base is None and are_two(key.kind, here, there))
        ):
            return None
        before = record_data(base) if isinstance(base, Part) else {}
        both_changed = not same(our_rule, was) and not same(their_rule, was)
        return graduation_winner(before, record_data(here), record_data(there), self.prefer, one_sided=both_changed)

    def _rule(self, key: Key, stands: Prefer) -> Placement:
        our_rule, their_rule = self.ours.state.entry(key), self.theirs.state.entry(key)
        loser = self._whole(self.base.entry(key), our_rule, their_rule, stands)
        entry = our_rule if stands == "ours" else their_rule
        return Placement(key, entry, key, "keep" if entry is our_rule else "take", key, (loser,))


def _keep_alike(key: Key, ours: Entry | None, theirs: Entry | None) -> Placement:
    """Two that say the same; of two ways to write it, the one that does not depend on the sides."""
    stands = min((ours, theirs), key=lambda entry: ordered_json(entry_values(entry)))
    return Placement(key, stands, key, "keep" if stands is ours else "take", key)


def _place_at(to: Key, wish: Placement) -> Placement:
    """A record that stands under an id says so; which one it is, nobody needs to hear."""
    entry = wish.entry if to.archived or wish.entry is None else with_id(wish.entry, to.id, "")
    return wish._replace(to=to, entry=entry, contested=tuple(value for value in wish.contested if value.field != "id"))


def _choose_readable(ours: Entry | None, theirs: Entry | None, prefer: Prefer | None) -> Entry | None:
    """Of a record and a file that cannot be read, or nothing: the record. Of two such files the larger by value.

    Where somebody is preferred, what is here stays: nothing is written over a file that cannot be read.
    """
    if ours is None or theirs is None:
        return ours if theirs is None else theirs
    if prefer is not None:
        return ours
    if isinstance(ours, Unreadable) and isinstance(theirs, Unreadable):
        return max(ours, theirs, key=lambda entry: (entry.content(), entry.why))
    return ours if isinstance(ours, Part) else theirs


def _merge_records(key: Key, was: Entry | None, ours: Part, theirs: Part, prefer: Prefer | None) -> Placement:
    """Field by field; archived on one side and edited on the other is archived with the edit."""
    model = type(ours) if not isinstance(ours, Archived) else type(theirs)
    if model is Archived:
        model = KINDS[key.kind].model
    base = record_data(was) if isinstance(was, Part) else None
    sides = base, record_data(ours), record_data(theirs)
    data, contested = merge_fields(model, *sides, prefer)
    frames = [entry for entry in (ours, theirs) if isinstance(entry, Archived)]
    frame = _frame(was, frames) if frames else None
    entry: Part = frame.replace(record=data) if frame is not None else parse(model, data)
    return Placement(key, entry, key, "merge", key, tuple(contested))


def _frame(was: Entry | None, frames: list[Archived]) -> Archived:
    """When and why a record was closed: what was changed about that, else the earlier of two closings."""
    before = _closing(was) if isinstance(was, Archived) else None
    changed = [frame for frame in frames if _closing(frame) != before] or frames
    return min(changed, key=lambda frame: (frame.at, canonical_json(frame.as_data()), ordered_json(frame.as_data())))


def _closing(entry: Archived) -> str:
    return canonical_json({name: value for name, value in entry.as_data().items() if name != "record"})
