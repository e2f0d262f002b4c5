"""The table of the page's actions: the verbs that it offers, for which records, and with which labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, get_origin

from baton_git.core.kinds import KINDS
from baton_git.core.records.base import Record
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.verb import NONE, Verb
from baton_git.verbs.table import verbs_of

ANY_KIND = "*"
"""The kind of an action on any record; its address names the kind."""


class PageAction(NamedTuple):
    """One action of the page: a verb with the label of its button.

    Attributes:
        verb: the name of the verb.
        words: the label of the button.
        done: the notice shown afterwards, with `{id}` for the record; empty if the result has its own text.
        kind: the kind of the record that the action changes; empty if it changes none.
        values: fields of the input with fixed values.
        hidden: fields of the input that the form leaves out.
        is_offered: whether a record offers the action; None: always.
        is_quick: whether a list offers it as a button without a form.
        subject: the field that names the record.
        labels: labels of fields for which the description of the input does not fit.
        takes_archived: whether archived records offer it too.
        is_about_namespace: whether the field `name` is the namespace of the address, which may not exist afterwards.
    """

    verb: str
    words: str
    done: str = ""
    kind: str = ""
    values: Mapping[str, Any] = NONE
    hidden: tuple[str, ...] = ()
    is_offered: Callable[[Any], bool] | None = None
    is_quick: bool = False
    subject: str = "id"
    labels: Mapping[str, str] = NONE
    takes_archived: bool = False
    is_about_namespace: bool = False

    @property
    def declaration(self) -> Verb[Any, Any]:
        return verbs_of(self.verb.partition(" ")[0])[self.verb]

    def name_subject(self, id_: str) -> str | list[str]:
        """Return the value of the field that names the record."""
        field = self.declaration.input_model.model_fields[self.subject]
        return [id_] if get_origin(field.annotation) is list else id_

    def takes(self, record: Record) -> bool:
        """Return whether the action is offered for a live record."""
        return self.kind in (record.kind, ANY_KIND) and (self.is_offered is None or self.is_offered(record))


def _is_checkable(loop: OpenLoop) -> bool:
    return loop.verify is not None and loop.verify.method != "manual"


def _is_not_verified(loop: OpenLoop) -> bool:
    return loop.status != "verified"


def _is_watchable(decision: ActiveDecision) -> bool:
    return decision.status == "active"


def _is_in_force(decision: ActiveDecision) -> bool:
    return decision.status != "superseded"


def _is_to_confirm(decision: ActiveDecision) -> bool:
    is_open = decision.status != "superseded"
    return is_open and (decision.replaces is not None or decision.source_tier != "human_confirmed")


def _may_become_a_rule(pattern: Pattern) -> bool:
    return pattern.status in ("observing", "rule_candidate")


def _is_in_document(record: Record) -> bool:
    return KINDS[record.kind].in_document


def _is_closed(record: Record) -> bool:
    return getattr(record, "status", None) in ("verified", "failed", "dismissed")


_LOOP, _ITEM, _PATTERN, _DECISION = OpenLoop.kind, FollowUp.kind, Pattern.kind, ActiveDecision.kind

_SEEN = {"note": "What you saw"}
_REMOTE = {"remote": "Remote", "policy": "Policy"}

ACTIONS = {
    "check": PageAction("loop verify", "Check", kind=_LOOP, hidden=("result", "note"), is_offered=_is_checkable,
                        is_quick=True),
    "passed": PageAction("loop verify", "Mark as passed", "{id} passed.", _LOOP, {"result": "passed"}, labels=_SEEN,
                         is_offered=_is_not_verified, is_quick=True),
    "failed": PageAction("loop verify", "Mark as failed", "{id} failed.", _LOOP, {"result": "failed"}, labels=_SEEN),
    "close-loop": PageAction("loop close", "Close", "{id} is closed.", _LOOP),
    "done": PageAction("followup done", "Done", "{id} is done.", _ITEM, is_quick=True),
    "defer": PageAction("followup defer", "Defer", "{id} is deferred.", _ITEM, is_quick=True),
    "merge-follow-ups": PageAction("followup merge", "Merge", "{id} is merged.", _ITEM),
    "seen-again": PageAction("pattern record", "Add an occurrence", "{id} was counted again.", _PATTERN,
                             hidden=("id", "rule", "about"), subject="what"),
    "propose": PageAction("pattern propose", "Propose a rule", "The rule of {id} is proposed.", _PATTERN,
                          is_offered=_may_become_a_rule),
    "dismiss": PageAction("pattern dismiss", "Dismiss", "{id} is dismissed.", _PATTERN, is_offered=_may_become_a_rule),
    "merge-patterns": PageAction("pattern merge", "Merge", "{id} is merged.", _PATTERN),
    "monitor": PageAction("decision monitor", "Watch", "{id} is being watched.", _DECISION, is_offered=_is_watchable,
                          is_quick=True),
    "supersede": PageAction("decision supersede", "Supersede", "{id} is superseded.", _DECISION,
                            is_offered=_is_in_force),
    "confirm": PageAction("decision confirm", "Confirm", "{id} is confirmed.", _DECISION, hidden=("all",),
                          is_offered=_is_to_confirm, subject="ids"),
    "merge-decisions": PageAction("decision merge", "Merge", "{id} is merged.", _DECISION),
    "reopen": PageAction("reopen", "Reopen", "{id} is open again.", ANY_KIND, hidden=("dry_run",),
                         is_offered=_is_closed, takes_archived=True),
    "forget": PageAction("forget", "Forget", "{id} is archived.", ANY_KIND, hidden=("dry_run",),
                         is_offered=_is_in_document),
    "add-loop": PageAction("loop add", "Add an open loop", "{id} is added.", hidden=("id",)),
    "add-follow-up": PageAction("followup add", "Add a follow-up", "{id} is added.", hidden=("id",)),
    "add-pattern": PageAction("pattern record", "Add a pattern", "{id} is recorded.", hidden=("id",)),
    "add-decision": PageAction("decision add", "Add a decision", "{id} is added.", hidden=("id", "tier")),
    "new-namespace": PageAction("init", "Create a namespace", "The namespace is created."),
    "rename-namespace": PageAction("namespace rename", "Rename", "The namespace is renamed.", values={"yes": True},
                                   hidden=("remote", "dry_run"), is_about_namespace=True),
    "delete-namespace": PageAction("namespace delete", "Delete", "The namespace is deleted.", values={"yes": True},
                                   hidden=("remote", "dry_run"), is_about_namespace=True),
    "verify": PageAction("verify", "Run all checks", hidden=("ids", "budget_seconds")),
    "sync": PageAction("sync", "Sync", hidden=("dry_run",), labels=_REMOTE),
    "begin-review": PageAction("remote review", "Begin a review", "New changes of this remote now wait for review.",
                               labels=_REMOTE),
    "remote-policy": PageAction("remote policy", "Change the policy", "The policy of the remote is changed.",
                                labels=_REMOTE),
}  # fmt: skip
"""The actions, by the names in their addresses."""

ADDING = {_LOOP: "add-loop", _ITEM: "add-follow-up", _PATTERN: "add-pattern", _DECISION: "add-decision"}
"""For each kind, the action that adds a record."""


def list_actions(record: Record, *, is_quick: bool = False) -> Iterator[tuple[str, PageAction]]:
    """Yield the names and actions that a live record offers; with `is_quick`, only those without a form."""
    for name, action in ACTIONS.items():
        if action.takes(record) and (action.is_quick or not is_quick):
            yield name, action
