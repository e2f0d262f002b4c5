# Written by `python tests/project/verb_pages.py`, from the table of verbs.

from typing import Any, Literal

from baton_git.core.records.work_items import VerifySpec
from baton_git.core.verb import VerbFunction
from baton_git.namespace.results import Changed
from baton_git.systems.ecc.recordings import ExportedRecordings
from baton_git.systems.ecc.recordings import ImportedRecordings
from baton_git.systems.ecc.session_verbs import AdapterList
from baton_git.systems.ecc.session_verbs import InspectedTarget
from baton_git.systems.ecc.session_verbs import RecordedSnapshot
from baton_git.systems.ecc.session_verbs import ShownSnapshot
from baton_git.systems.ecc.session_verbs import SnapshotHistory
from baton_git.systems.ecc.session_verbs import SnapshotList
from baton_git.systems.ecc.session_verbs import TargetList
from baton_git.systems.gobby.verbs import ExtractedHandoff
from baton_git.systems.gobby.verbs import HandoffList
from baton_git.systems.gobby.verbs import ShownHandoff
from baton_git.systems.gobby.verbs import StoppedSession
from baton_git.systems.kairos.handover_verbs import ClearedHandover
from baton_git.systems.kairos.handover_verbs import ExportedHandover
from baton_git.systems.kairos.handover_verbs import HandoverRun
from baton_git.systems.kairos.handover_verbs import Handovers
from baton_git.systems.kairos.handover_verbs import ImportedHandover
from baton_git.systems.kairos.handover_verbs import ResumedHandover
from baton_git.systems.kairos.handover_verbs import SteppedHandover
from baton_git.systems.paif.checkpoint_verbs import AgentSessions
from baton_git.systems.paif.checkpoint_verbs import RestoredAgent
from baton_git.systems.paif.checkpoint_verbs import SavedCheckpoint
from baton_git.systems.paif.exchange import ExportedPaif
from baton_git.systems.paif.exchange import ImportedPaif
from baton_git.systems.paif.identity_verbs import CheckedIdentity
from baton_git.systems.paif.identity_verbs import ShownIdentity
from baton_git.systems.session_baton.documents import StateDocument
from baton_git.systems.session_baton.exchange import ExportedBatons
from baton_git.systems.session_baton.exchange import ImportedBatons
from baton_git.systems.session_baton.written_documents import WrittenDocument
from baton_git.verbs.doctor.doctor import Diagnosis
from baton_git.verbs.records.details import ShownRecord
from baton_git.verbs.records.editing import Forgotten
from baton_git.verbs.records.editing import Reopened
from baton_git.verbs.records.listing import ListedRecords
from baton_git.verbs.records.ready import ReadyResult
from baton_git.verbs.revisions.log import CommitResult
from baton_git.verbs.revisions.log import DiffResult
from baton_git.verbs.revisions.log import Lineage
from baton_git.verbs.revisions.log import LogResult
from baton_git.verbs.revisions.recall import RecallResult
from baton_git.verbs.revisions.undo import RedoResult
from baton_git.verbs.revisions.undo import RollbackResult
from baton_git.verbs.revisions.undo import UndoResult
from baton_git.verbs.sessions.mining import MineResult
from baton_git.verbs.sessions.session_end import WrapResult
from baton_git.verbs.sessions.sessions import BootResult
from baton_git.verbs.sessions.sessions import InitResult
from baton_git.verbs.sharing.conflicts import ConflictList
from baton_git.verbs.sharing.conflicts import ResolvedConflict
from baton_git.verbs.sharing.outgoing import OutgoingResult
from baton_git.verbs.sharing.remotes import RemoteList
from baton_git.verbs.sharing.remotes import RemotePolicyResult
from baton_git.verbs.sharing.review import Decided
from baton_git.verbs.sharing.review import Waiting
from baton_git.verbs.sharing.sync import SyncResult
from baton_git.verbs.upkeep.namespace_moves import DeletedNamespace
from baton_git.verbs.upkeep.namespace_moves import RecoveredNamespace
from baton_git.verbs.upkeep.namespace_moves import RenamedNamespace
from baton_git.verbs.upkeep.namespace_status import StatusResult
from baton_git.verbs.upkeep.namespaces import NamespaceList
from baton_git.verbs.upkeep.packing import PackedStore
from baton_git.verbs.upkeep.prefix_move import MovedNamespaces
from baton_git.verbs.upkeep.quarantine import DiscardedRows
from baton_git.verbs.upkeep.quarantine import QuarantineList
from baton_git.verbs.upkeep.schemas import KindSchema
from baton_git.verbs.upkeep.validation import ValidatedBranch
from baton_git.verbs.verification.checks import CheckResults
from baton_git.verbs.work_items.decisions import Replaced
from baton_git.verbs.work_items.new_records import Added
from baton_git.verbs.work_items.todos import ChangedTodos
from baton_git.verbs.work_items.todos import TodoList
from collections.abc import Mapping
from pathlib import Path

class VerbMethods:
    def run_verb(self, function: VerbFunction[Any, Any], *args: Any, **fields: Any) -> Any: ...
    def accept_namespace(
        self,
        name: str,
        *,
        dry_run: bool = False,
        yes: bool = False,
    ) -> RecoveredNamespace: ...
    def add_decision(
        self,
        what: str,
        why: str,
        *,
        evidence: list[str] = ...,
        rejected: list[str] = ...,
        about: list[str] = ...,
        replaces: str | None = None,
        tier: Literal['raw_source', 'llm_derived', 'human_confirmed'] | None = None,
        id: str | None = None,
    ) -> Added: ...
    def add_follow_up(
        self,
        item: str,
        *,
        reason: str | None = None,
        pattern: str | None = None,
        priority: Literal['normal', 'elevated', 'escalated'] | None = None,
        id: str | None = None,
    ) -> Added: ...
    def add_loop(
        self,
        action: str,
        expect: str,
        *,
        verify: VerifySpec | Mapping[str, Any] | None = None,
        ttl_days: int | None = None,
        decision: str | None = None,
        id: str | None = None,
    ) -> Changed: ...
    def add_todo(
        self,
        text: str,
        *,
        started: bool = False,
    ) -> ChangedTodos: ...
    def anchor_decision(
        self,
        id: str,
        *,
        about: list[str] = ...,
    ) -> Changed: ...
    def anchor_pattern(
        self,
        id: str,
        *,
        about: list[str] = ...,
    ) -> Changed: ...
    def begin_review(
        self,
        remote: str,
    ) -> SyncResult: ...
    def boot(
        self,
        *,
        budget: int = 8000,
        check_seconds: float = 5.0,
        sync_seconds: float = 3.0,
    ) -> BootResult: ...
    def cancel_todo(
        self,
        which: str,
    ) -> ChangedTodos: ...
    def check_agent_identity(
        self,
        *,
        agent: str | None = None,
        text: str,
        no_count: bool = False,
    ) -> CheckedIdentity: ...
    def clear_handover(
        self,
        *,
        session: str | None = None,
        outcome: Literal['completed', 'abandoned'],
    ) -> ClearedHandover: ...
    def close_loop(
        self,
        id: str,
        *,
        reason: str = "closed",
    ) -> Changed: ...
    def decide_review(
        self,
        *,
        remote: str | None = None,
        accept: list[str] = ...,
        reject: list[str] = ...,
        accept_all: bool = False,
        reject_all: bool = False,
        shown: str | None = None,
    ) -> Decided: ...
    def defer_follow_up(
        self,
        id: str,
        *,
        reason: str | None = None,
    ) -> Changed: ...
    def delete_namespace(
        self,
        name: str,
        *,
        remote: str | None = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> DeletedNamespace: ...
    def diff(
        self,
        *,
        limit: int = 1000,
        after: str | None = None,
        a: str,
        b: str | None = None,
    ) -> DiffResult: ...
    def discard_rows(
        self,
        ids: list[str] = ...,
        *,
        everything: bool = False,
    ) -> DiscardedRows: ...
    def dismiss_pattern(
        self,
        id: str,
    ) -> Changed: ...
    def doctor(
        self,
        checks: list[str] = ...,
    ) -> Diagnosis: ...
    def edit_record(
        self,
        id: str,
        *,
        kind: str | None = None,
        fields: dict[str, Any],
        seen: dict[str, Any] | None = None,
    ) -> Changed: ...
    def export_ecc(
        self,
        folder: Path,
        *,
        id: str | None = None,
        force: bool = False,
    ) -> ExportedRecordings: ...
    def export_handover(
        self,
        file: Path,
        *,
        session: str | None = None,
        at: str | None = None,
        force: bool = False,
    ) -> ExportedHandover: ...
    def export_paif(
        self,
        folder: Path,
        *,
        agent: str | None = None,
    ) -> ExportedPaif: ...
    def export_session_baton(
        self,
        path: Path,
        *,
        to: Literal['sqlite', 'cache', 'json'] | None = None,
        everything: bool = False,
        at: str | None = None,
    ) -> ExportedBatons: ...
    def extract_handoff(
        self,
        transcript: Path | None = None,
        *,
        max_turns: int | None = None,
        activity: int | None = None,
        max_commits: int | None = None,
        diff_stats: bool = False,
        format: Literal['structured', 'narrative'] | None = None,
        only: list[Literal['initial_goal', 'active_task', 'todo_state', 'files_modified', 'git_commits', 'git_status', 'recent_activity', 'key_decisions', 'latest_prompts', 'unanswered', 'last_answer', 'open_questions', 'next_steps', 'files_used', 'errors', 'gobby_tasks', 'todowrite']] = ...,
        without: list[Literal['initial_goal', 'active_task', 'todo_state', 'files_modified', 'git_commits', 'git_status', 'recent_activity', 'key_decisions', 'latest_prompts', 'unanswered', 'last_answer', 'open_questions', 'next_steps', 'files_used', 'errors', 'gobby_tasks', 'todowrite']] = ...,
        memory: Path | None = None,
        folder: Path | None = None,
        keep: bool = False,
        cli: str | None = None,
        config: Path | None = None,
    ) -> ExtractedHandoff: ...
    def finish_follow_up(
        self,
        id: str,
        *,
        note: str | None = None,
    ) -> Changed: ...
    def finish_todo(
        self,
        which: str,
    ) -> ChangedTodos: ...
    def forget_record(
        self,
        id: str,
        *,
        kind: str | None = None,
        reason: str,
        dry_run: bool = False,
    ) -> Forgotten: ...
    def import_ecc(
        self,
        path: Path,
    ) -> ImportedRecordings: ...
    def import_handover(
        self,
        file: Path,
    ) -> ImportedHandover: ...
    def import_paif(
        self,
        path: Path,
        *,
        agent: str | None = None,
    ) -> ImportedPaif: ...
    def import_session_baton(
        self,
        path: Path,
        *,
        source: str | None = None,
        everything: bool = False,
    ) -> ImportedBatons: ...
    def init(
        self,
        *,
        namespace: str | None = None,
        sync_seconds: float = 3.0,
    ) -> InitResult: ...
    def init_agent_identity(
        self,
        *,
        agent: str | None = None,
        purpose: str | None = None,
        domain: list[str] = ...,
        constraint: list[str] = ...,
        value: str | None = None,
        secondary: list[str] = ...,
        never: list[str] = ...,
        tone: str | None = None,
        quirk: list[str] = ...,
        taboo: list[str] = ...,
        created_by: str | None = None,
        genesis: str | None = None,
        parent_agent: str | None = None,
        custodian: str | None = None,
        document: dict[str, Any] | None = None,
        source: str = "",
    ) -> Changed: ...
    def inspect_target(
        self,
        target: str,
        *,
        adapter: str | None = None,
        target_type: str | None = None,
    ) -> InspectedTarget: ...
    def list_agent_sessions(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
        agent: str | None = None,
    ) -> AgentSessions: ...
    def list_conflicts(
        self,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> ConflictList: ...
    def list_former_snapshots(
        self,
        id: str,
        *,
        limit: int = 20,
    ) -> SnapshotHistory: ...
    def list_handovers(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
    ) -> Handovers: ...
    def list_kept_handoffs(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
    ) -> HandoffList: ...
    def list_namespaces(
        self,
        *,
        limit: int = 100,
        after: str | None = None,
    ) -> NamespaceList: ...
    def list_quarantine(
        self,
        *,
        everything: bool = False,
    ) -> QuarantineList: ...
    def list_ready(
        self,
        *,
        limit: int = 50,
    ) -> ReadyResult: ...
    def list_records(
        self,
        kind: str | None = None,
        *,
        status: str | None = None,
        by_agent: str | None = None,
        by_session: str | None = None,
        since: str | None = None,
        about: str | None = None,
        sort: Literal['id', 'newest', 'oldest', 'urgent'] = "id",
        archived: bool = False,
        limit: int = 100,
        after: str | None = None,
    ) -> ListedRecords: ...
    def list_remotes(self) -> RemoteList: ...
    def list_session_adapters(self) -> AdapterList: ...
    def list_sessions(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
    ) -> Lineage: ...
    def list_snapshots(
        self,
        *,
        limit: int = 50,
        after: str | None = None,
    ) -> SnapshotList: ...
    def list_targets(
        self,
        *,
        adapter: str | None = None,
        limit: int = 20,
    ) -> TargetList: ...
    def list_todos(
        self,
        *,
        all: bool = False,
    ) -> TodoList: ...
    def log(
        self,
        *,
        limit: int = 50,
        record: str | None = None,
        by_session: str | None = None,
        by_agent: str | None = None,
        since: str | None = None,
        until: str | None = None,
        after: str | None = None,
        ops: bool = False,
    ) -> LogResult: ...
    def merge_decision(
        self,
        id: str,
        into: str,
    ) -> Changed: ...
    def merge_follow_up(
        self,
        id: str,
        into: str,
    ) -> Changed: ...
    def merge_pattern(
        self,
        id: str,
        into: str,
    ) -> Changed: ...
    def mine(
        self,
        *,
        agent: str | None = None,
        since: str | None = None,
        dry_run: bool = False,
        project: str | None = None,
        all_projects: bool = False,
        take: list[str] = ...,
    ) -> MineResult: ...
    def monitor_decision(
        self,
        id: str,
    ) -> Changed: ...
    def move_namespaces(
        self,
        *,
        remote: str | None = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> MovedNamespaces: ...
    def pack_store(self) -> PackedStore: ...
    def propose_rule(
        self,
        id: str,
        rule: str,
    ) -> Changed: ...
    def read(
        self,
        *,
        at: str | None = None,
    ) -> StateDocument: ...
    def recall(
        self,
        question: str,
        *,
        budget: int = 4000,
        since: str | None = None,
        until: str | None = None,
        kind: str | None = None,
        in_session: str | None = None,
        all_projects: bool = False,
    ) -> RecallResult: ...
    def record_pattern(
        self,
        what: str,
        *,
        context: str = "",
        rule: str | None = None,
        about: list[str] = ...,
        id: str | None = None,
    ) -> Added: ...
    def record_snapshot(
        self,
        snapshot: dict[str, Any],
    ) -> RecordedSnapshot: ...
    def redo(
        self,
        *,
        dry_run: bool = False,
        yes: bool = False,
    ) -> RedoResult: ...
    def rename_namespace(
        self,
        name: str,
        new_name: str,
        *,
        remote: str | None = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> RenamedNamespace: ...
    def reopen_record(
        self,
        id: str,
        *,
        kind: str | None = None,
        dry_run: bool = False,
    ) -> Reopened: ...
    def resolve_conflict(
        self,
        id: str,
        *,
        side: Literal['ours', 'theirs'] | None = None,
        value: Any = None,
    ) -> ResolvedConflict: ...
    def restore_agent(
        self,
        *,
        agent: str | None = None,
        budget: int = 8000,
        look: bool = False,
    ) -> RestoredAgent: ...
    def restore_namespace(
        self,
        name: str,
        *,
        dry_run: bool = False,
    ) -> RecoveredNamespace: ...
    def resume_handover(
        self,
        *,
        session: str | None = None,
        uri: str | None = None,
        stale_after: float = 24.0,
    ) -> ResumedHandover: ...
    def rollback(
        self,
        revision: str | None = None,
        *,
        record: str | None = None,
        of_session: str | None = None,
        dry_run: bool = False,
        yes: bool = False,
    ) -> RollbackResult: ...
    def save_agent_checkpoint(
        self,
        *,
        agent: str | None = None,
        summary: str | None = None,
        pending: list[str] = ...,
        focus: str | None = None,
        project: list[str] = ...,
        scratchpad: str | None = None,
        open_file: list[str] = ...,
        stack: list[str] = ...,
        memory_id: list[str] = ...,
        last_query: str | None = None,
        started_at: str | None = None,
        duration: int | None = None,
        more: dict[str, Any] = ...,
        periodic: bool = False,
        interval_minutes: int = 30,
        source: str = "",
    ) -> SavedCheckpoint: ...
    def schema(
        self,
        *,
        kind: str | None = None,
    ) -> KindSchema: ...
    def set_remote_policy(
        self,
        remote: str,
        policy: Literal['auto', 'review', 'signed'],
    ) -> RemotePolicyResult: ...
    def set_todos(
        self,
        items: list[str | dict[str, Any]],
    ) -> ChangedTodos: ...
    def show(
        self,
        revision: str = "~0",
    ) -> CommitResult: ...
    def show_agent_identity(
        self,
        *,
        agent: str | None = None,
    ) -> ShownIdentity: ...
    def show_handoff(
        self,
        id: str | None = None,
        at: str | None = None,
    ) -> ShownHandoff: ...
    def show_handover(
        self,
        *,
        session: str | None = None,
        at: str | None = None,
    ) -> HandoverRun: ...
    def show_outgoing(
        self,
        remote: str | None = None,
        *,
        all: bool = False,
        whole: bool = False,
        full: bool = False,
    ) -> OutgoingResult: ...
    def show_record(
        self,
        id: str,
        kind: str | None = None,
        *,
        at: str | None = None,
    ) -> ShownRecord: ...
    def show_review(
        self,
        *,
        remote: str | None = None,
    ) -> Waiting: ...
    def show_snapshot(
        self,
        id: str,
        *,
        at: str | None = None,
    ) -> ShownSnapshot: ...
    def start_todo(
        self,
        which: str,
    ) -> ChangedTodos: ...
    def status(self) -> StatusResult: ...
    def step_handover(
        self,
        *,
        session: str | None = None,
        challenge: str | None = None,
        uri: str | None = None,
        index: int | None = None,
        came_from: str | None = None,
        stay: bool = False,
        state: dict[str, Any] = ...,
        unset: list[str] = ...,
    ) -> SteppedHandover: ...
    def stop_session(
        self,
        id: str,
    ) -> StoppedSession: ...
    def supersede_decision(
        self,
        id: str,
        by: str,
    ) -> Replaced: ...
    def sync_namespace(
        self,
        remote: str | None = None,
        *,
        all: bool = False,
        dry_run: bool = False,
    ) -> SyncResult: ...
    def undo(
        self,
        revision: str | None = None,
        *,
        dry_run: bool = False,
        yes: bool = False,
    ) -> UndoResult: ...
    def validate(
        self,
        *,
        at: str | None = None,
    ) -> ValidatedBranch: ...
    def verify(
        self,
        ids: list[str] = ...,
        *,
        budget_seconds: float = 10.0,
    ) -> CheckResults: ...
    def verify_loop(
        self,
        id: str,
        *,
        result: Literal['passed', 'failed'] | None = None,
        note: str | None = None,
    ) -> CheckResults: ...
    def wrap(
        self,
        *,
        context: str | None = None,
        summary: str | None = None,
        expected_revision: int | None = None,
        sync: bool = True,
    ) -> WrapResult: ...
    def write(
        self,
        baton: Any,
        *,
        expected_revision: int | None = None,
        source: str = "",
    ) -> WrittenDocument: ...
