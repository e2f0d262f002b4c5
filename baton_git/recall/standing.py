"""Judge passages by the newest revision of their namespace: their provenance, and whether they still hold."""

from __future__ import annotations

from functools import cached_property

from baton_git.core.errors import BatonError
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.layout import key_at, path_of
from baton_git.core.names import Oid
from baton_git.core.proposals import Proposals, find_proposals
from baton_git.core.records.base import Record
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.sessions import find_session
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.namespace.commit_log import parse_entry
from baton_git.namespace.provenance.judgement import word_of_kind
from baton_git.namespace.provenance.ledger import find_origin
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.recall.index import RecallIndex
from baton_git.recall.passages import ON_THIS_MACHINE, TURN, Passage, Standing
from baton_git.recall.sources import find_blob, find_context_time, group_of

FORGET = "forget"
"""The verb of the commits that archive a record because it should not be remembered."""


class StandingJudge:
    """Judges the passages of a workspace's namespace by its newest revision."""

    def __init__(self, ws: Workspace, index: RecallIndex) -> None:
        self._ws = ws
        self._index = index
        self._revision: Revision = ws.branch.read()
        self._judgement = ws.shown_judgement(self._revision)

    def judge(self, passage: Passage) -> Standing:
        """Return the current status of a passage.

        Raises:
            StoreError: the history or the ledger of origins cannot be read.
        """
        if passage.kind == TURN and not passage.path:
            return Standing(ON_THIS_MACHINE)
        key = key_at(passage.path)
        if key is None or passage.namespace != self._ws.branch.namespace.text:
            return Standing(self._label_of_commit(passage))
        if key.kind == Session.kind:
            return self._judge_context(passage)
        if self._blob_at(passage.path) == passage.blob:
            return self._judge_present(key, passage)
        return self._judge_past(key, passage)

    def _judge_present(self, key: Key, passage: Passage) -> Standing:
        label = self._label(key, passage)
        if key.archived:
            is_forgotten = self._op_of_commit(passage) == FORGET
            return Standing(label, "forgotten" if is_forgotten else "archived", holds=not is_forgotten)
        record = self._revision.state.entry(key)
        if isinstance(record, ActiveDecision) and self._judgement.is_superseded(record):
            newer = Key(key.kind, record.superseded_by or "")
            return Standing(label, f"superseded by {newer.id}", False, self._passages_at(newer))
        if isinstance(record, ActiveDecision) and record.replaces and record.id in self._proposals.targets:
            return Standing(label, f"proposed to replace {self._proposals.targets[record.id]}", False)
        return Standing(label, self._judgement.aging(record) if isinstance(record, Record) else "")

    def _judge_context(self, passage: Passage) -> Standing:
        """Return the standing of a session's context: it holds until another session replaces it."""
        label, session = self._label_of_commit(passage), find_session(self._revision.state, passage.record)
        time = find_context_time(session) if session is not None else None
        if session is None or time is None:
            return Standing(label, "removed", False)
        is_newest = iso(time) == passage.time and session.has_current_context
        return Standing(label) if is_newest else Standing(label, "earlier value", False)

    @cached_property
    def _proposals(self) -> Proposals:
        return find_proposals(self._revision.state, self._judgement)

    def _judge_past(self, key: Key, passage: Passage) -> Standing:
        label = self._label_of_commit(passage)
        if newer := self._passages_at(key):
            return Standing(label, "earlier value", False, newer)
        if key.archived and (newer := self._passages_at(key._replace(archived=False))):
            return Standing(label, "while it was archived", False, newer)
        archived = key if key.archived or key.kind not in KINDS else key._replace(archived=True)
        newer = self._passages_at(archived)
        return Standing(label, "before it was archived" if newer else "removed", False, newer)

    def _passages_at(self, key: Key) -> tuple[Passage, ...]:
        """Return the passages of the current record at a key; none if there is no record."""
        if not key.id and key.kind in KINDS:
            return ()
        path = path_of(key)
        return self._index.of_blob(group_of(self._ws.branch), path, self._blob_at(path) or "")

    def _blob_at(self, path: str) -> str | None:
        return find_blob(self._ws.branch.store.folder(self._revision.tree), path)

    def _op_of_commit(self, passage: Passage) -> str:
        """Return the verb of the commit that wrote a passage; empty if the commit no longer exists."""
        try:
            return parse_entry(self._ws.branch.store.commit(Oid(passage.commit))).op
        except BatonError:
            return ""

    def _label(self, key: Key, passage: Passage) -> str:
        return self._judgement.word(key) if key.kind in LABELLED else self._label_of_commit(passage)

    def _label_of_commit(self, passage: Passage) -> str:
        """Return the origin of a passage's commit; `by hand` if it no longer exists, `unknown` if it is not known."""
        branch = self._ws.branch
        if not passage.commit:
            return word_of_kind("unknown")
        try:
            origin = find_origin(branch.ledger, branch.store.commit(Oid(passage.commit)))
        except BatonError:
            return "by hand"
        if origin.source == "remote":
            remote = branch.ledger.remotes().get(origin.name)
            return f"from {remote.name if remote is not None else origin.name}"
        if origin.source == "hand":
            return "by hand"
        return word_of_kind("unauthenticated" if origin.name else "agent")
