"""Collect findings from the events of a transcript, one event at a time, for all agents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Any, ClassVar

from baton_git.agents.events import (
    HARNESS,
    PERSON,
    Compaction,
    EndReached,
    Event,
    FilesChanged,
    Goal,
    LeftSubagent,
    ModelReply,
    Prompt,
    ReportedCommit,
    Restart,
    ResumePoint,
    SessionContext,
    Tally,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from baton_git.agents.extraction import conversation
from baton_git.agents.extraction.findings import (
    CHANGED,
    KEPT_ACTIVITY,
    KEPT_DECISIONS,
    KEPT_LEFT,
    KEPT_OPEN,
    READ,
    Findings,
    Mark,
    Table,
    find_dropped_names,
    find_names,
    forget_names,
    name_command,
    name_files,
    name_printed_files,
    note_outcome,
    note_removals,
    note_restoring,
    update_lists,
    use_file,
)
from baton_git.agents.extraction.shell import Removals, add_git_work, add_reported_commit, find_git_work, find_removals
from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import ToolOutcome, ToolUse, TranscriptFormat
from baton_git.agents.turn_store import keep_ends
from baton_git.core.output import remove_terminal_codes

_MAX_COMMAND = 2000
"""Maximum size in bytes of a command that is kept until its result comes; of a longer one, both ends are kept."""


class Analyser:
    """Findings after the events so far, and a copy of them at the point where the next reading resumes.

    Attributes:
        known: the findings after all events so far.
        settled: the findings at the resume point, as plain data; None if there was no resume point.
        end: the event with the position at which the next reading resumes.
        unread: number of lines that could not be read.
        tally: how much of the transcript was understood.
    """

    def __init__(self, agent: str, known: Findings | None = None) -> None:
        self.agent: TranscriptFormat = AGENTS[agent].transcript
        self.known = known or Findings()
        self.settled: Table | None = None
        self.end: ResumePoint | EndReached | None = None
        self.unread, self.tally = 0, Tally()

    def add_event(self, event: Event) -> None:
        """Update the findings with the next event."""
        kind = type(event)
        handle = self._HANDLERS.get(kind)
        if kind in _WITH_TEXT:
            event = _clean(event)
        if isinstance(event, LeftSubagent):
            self.known.left_subagents.append(event.id)
        elif handle is not None:
            # The first event of a record counts as a turn, unless it only describes the session.
            if self.known.at != event.position and kind is not SessionContext:
                self.known.at = event.position
                self.known.turn += 1
                self.known.ended = getattr(event, "time", None) or self.known.ended
            if kind is ModelReply or kind is ToolCall:
                self.known.answers += 1
            handle(self, event)
        elif isinstance(event, ResumePoint):
            self.settled, self.end = self.known.as_data(), event
        elif isinstance(event, EndReached):
            self.end = self.end or event
            self.unread, self.tally = event.unread, event.tally
        elif isinstance(event, Restart):
            # a commit stays in the repository when its turn is left, so it has to be told as what it is
            made = [commit["hash"] for commit in self.known.commits if commit["hash"]]
            self.known = Findings(left_commits=list(dict.fromkeys([*self.known.left_commits, *made]))[-KEPT_LEFT:])
            if event.rereads:
                self.settled = self.end = None

    def memory(self) -> Table:
        """Return the findings with which the next reading continues, as plain data."""
        return self.settled if self.settled is not None else self.known.as_data()

    def _make_mark(self, event: Any) -> Mark:
        return [self.known.turn, *event.position, event.time]

    # --- session and prompts

    def _add_context(self, event: SessionContext) -> None:
        known = self.known
        known.session = event.session or known.session
        known.cwd = event.cwd or known.cwd
        known.home = event.home or known.home or event.cwd
        known.branch = event.branch or known.branch
        known.started = known.started or event.time

    def _add_prompt(self, event: Prompt) -> None:
        known = self.known
        event = event._replace(text=conversation.remove_loop_instructions(event.text))
        known.started = known.started or event.time
        is_bare = event.command is not None and event.text.strip() == event.command
        is_own = event.origin == PERSON
        if is_own and is_bare and known.bare_goal is None:
            known.bare_goal = {"text": event.text, "mark": self._make_mark(event)}
        if is_own and not is_bare and known.goal is None:
            known.goal = {"text": event.text, "mark": self._make_mark(event)}
        conversation.add_prompt(known, event)
        if event.origin != HARNESS:
            name_files(known, event.text)

    def _end_turn(self, event: TurnEnd) -> None:
        conversation.end_turn(self.known, event)

    def _add_goal(self, event: Goal) -> None:
        self.known.kept_goal = {"text": event.text, "status": event.status, "mark": self._make_mark(event)}

    def _add_reply(self, event: ModelReply) -> None:
        conversation.add_reply(self.known, event, self._make_mark(event))
        name_files(self.known, event.text)
        for text in conversation.find_by_wording(event.text):
            self._add_decision("wording", text, event)

    def _add_compaction(self, event: Compaction) -> None:
        self.known.compactions += 1
        for text in conversation.find_in_summary(event.summary):
            self._add_decision("summary", text, event)

    def _add_decision(self, kind: str, text: str, event: Any) -> None:
        decisions_ = self.known.decisions
        if text and not any(decision["text"] == text for decision in decisions_):
            decisions_.append({"kind": kind, "text": text, "mark": self._make_mark(event)})
            by_wording = [decision for decision in decisions_ if decision["kind"] == "wording"]
            if len(by_wording) > KEPT_DECISIONS:
                decisions_.remove(by_wording[0])
            elif len(decisions_) - len(by_wording) > KEPT_DECISIONS:
                decisions_.remove(next(decision for decision in decisions_ if decision["kind"] != "wording"))

    # --- calls

    def _add_call(self, event: ToolCall) -> None:
        use, known = self.agent.read_call(event), self.known
        conversation.add_work(known, event)
        mark = self._make_mark(event)
        waiting: Table = {"name": event.name, "side": event.side, "mark": mark}
        if use[_FIRST_LATE_FIELD:] != _NO_LATE_FIELDS:
            waiting |= _keep_for_result(use)
        if use.files:
            waiting |= self._describe_changes(use)
        if use.reads:
            waiting["reads"] = [self._make_absolute(path, use.folder) for path in use.reads]
        if use.searches:
            waiting["searches"] = True
        if use.command is not None:
            waiting = self._describe_shell_call(use) | waiting
        known.open[event.id] = waiting
        if len(known.open) > KEPT_OPEN:
            del known.open[next(iter(known.open))]
        if not event.side and not _is_own(event.name, use):
            self._add_activity(event, use.activity, mark)

    def _add_activity(self, event: ToolCall, text: str, mark: Mark) -> None:
        """Add a call to the activity. A call made by the code of another call replaces that one."""
        activity = self.known.activity
        entry = {"id": event.id, "text": text, "mark": mark}
        if event.within is not None:
            outer = next((entry for entry in reversed(activity[-10:]) if entry["id"] == event.within), None)
            if outer is not None:
                activity.remove(outer)
        activity.append(entry)
        if len(activity) > 2 * KEPT_ACTIVITY:
            del activity[:-KEPT_ACTIVITY]

    def _mark_refused(self, call: str) -> None:
        """Say of a call that was not made because a person refused it."""
        entry = next((entry for entry in reversed(self.known.activity) if entry["id"] == call), None)
        if entry is not None:
            name, _, what = entry["text"].partition(": ")
            entry["text"] = f"Refused: {'run' if name == 'Ran' else name} {what}".rstrip()

    def _describe_changes(self, use: ToolUse) -> Table:
        """Return the data about the files that a call changes that is kept until its result comes."""
        files = [self._make_absolute(path, use.folder) for path in use.files]
        changes: Table = {"files": files, "names": find_names(use.written)}
        if dropped := find_dropped_names(use.replaced, use.written):
            changes["dropped"] = dropped
        if len(files) == len(use.sections) > 1:
            changes["names_of"] = dict(zip(files, map(find_names, use.sections), strict=True))
        if use.removes:
            changes["removed"] = [self._make_absolute(path, use.folder) for path in use.removes]
        return changes

    def _describe_shell_call(self, use: ToolUse) -> Table:
        """Return the data about a shell command that is kept until its result comes, such as its commits."""
        known = self.known
        folder = self._make_absolute(use.folder, None) if use.folder else known.cwd
        command = use.command or ""
        waiting: Table = {"command": keep_ends(command, _MAX_COMMAND), "searches": True}
        removals = find_removals(command, folder)
        if removals != Removals():
            waiting |= {"removed": list(removals.paths), "restores": removals.restores}
        work = find_git_work(command, folder)
        if not work.commit_commands and not work.repositories:
            return waiting
        return waiting | {
            "makings": [list(commit_command) for commit_command in work.commit_commands],
            "repositories": list(work.repositories),
        }

    def _make_absolute(self, path: str, folder: str | None) -> str:
        if path.startswith("/"):
            return path
        base = posixpath.join(self.known.cwd or "", folder or "")
        if not base.startswith("/") or path[1:3] in (":\\", ":/"):
            return path
        return posixpath.normpath(posixpath.join(base, path))

    def _add_result(self, event: ToolResult) -> None:
        waiting = self.known.open.pop(event.id, None)
        if waiting is None:
            return
        outcome = self.agent.read_result(waiting["name"], event)
        if outcome.refused and not waiting["side"]:
            self._mark_refused(event.id)
        if outcome.later:
            self.known.open[event.id] = {**waiting, "later": True}
            return
        if "makings" in waiting:
            add_git_work(self.known, waiting, event, outcome)
        if "command" in waiting and not outcome.refused:
            self._note_outcome(waiting, event, outcome)
        self._note_uses(waiting, event, outcome)
        if waiting.get("restores"):
            note_restoring(self.known)
        if outcome.failed:
            return
        files = waiting.get("files", []) if outcome.files is None else outcome.files
        if files and not waiting.get("changed"):
            self._add_changed_files([self._make_absolute(path, None) for path in files], waiting)
        note_removals(self.known, waiting.get("removed", ()))
        if not waiting["side"] and (outcome != _PLAIN_SUCCESS or not waiting.keys() <= _USUAL_KEYS):
            update_lists(self.known, waiting, outcome)
            self._add_answers(waiting, outcome, event)

    def _add_answers(self, waiting: Table, outcome: ToolOutcome, event: ToolResult) -> None:
        for text in outcome.answers:
            self._add_decision("answer", text[: conversation.DECISION_LENGTH], event)
        if "plan" in waiting:
            reported = (event.structured or {}).get("plan")
            self._add_decision(
                "plan",
                conversation.read_plan_title(waiting["plan"] or (reported if isinstance(reported, str) else "")),
                event,
            )

    def _add_file_changes(self, event: FilesChanged) -> None:
        """Record the file changes that the agent itself reports, which replace the files that the call names."""
        if event.id in self.known.open:
            self.known.open[event.id]["changed"] = True
        change = {"side": event.side, "mark": self._make_mark(event)}
        call = self.known.open.get(event.id, {})
        change |= {name: call[name] for name in ("names", "names_of", "dropped") if name in call}
        for file in event.files:
            paths = [file.path] if file.moved_to is None else [file.path, file.moved_to]
            self._add_changed_files([self._make_absolute(path, None) for path in paths], change)
            if file.kind == "delete" or file.moved_to is not None:
                note_removals(self.known, [self._make_absolute(file.path, None)])

    def _add_changed_files(self, paths: list[str], waiting: Table) -> None:
        for path in paths:
            self.known.files[path] = list(waiting["mark"])
            names = waiting.get("names_of", {}).get(path, waiting.get("names", ()))
            forget_names(self.known, path, waiting.get("dropped", ()))
            use_file(self.known, path, CHANGED, found=_describe_origin(waiting), names=names)

    # --- files read, and failures

    def _note_uses(self, waiting: Table, event: ToolResult, outcome: ToolOutcome) -> None:
        for path in () if outcome.failed else waiting.get("reads", ()):
            use_file(self.known, path, READ, found=_describe_origin(waiting))
        if "searches" in waiting:
            name_files(self.known, waiting.get("command", ""), _describe_origin(waiting))
            name_printed_files(self.known, event.text, _describe_origin(waiting), failed=outcome.failed)

    def _note_outcome(self, waiting: Table, event: ToolResult, outcome: ToolOutcome) -> None:
        name = name_command(waiting["command"])
        if name is not None:
            note_outcome(self.known, name, waiting["command"], event.text, waiting["mark"], failed=outcome.failed)

    def _add_reported_commit(self, event: ReportedCommit) -> None:
        add_reported_commit(self.known, event)

    _HANDLERS: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        SessionContext: _add_context,
        Prompt: _add_prompt,
        Goal: _add_goal,
        ModelReply: _add_reply,
        Compaction: _add_compaction,
        TurnEnd: _end_turn,
        ToolCall: _add_call,
        ToolResult: _add_result,
        FilesChanged: _add_file_changes,
        ReportedCommit: _add_reported_commit,
    }
    """The handler of each type of event."""


_WITH_TEXT = frozenset((Prompt, ModelReply, ToolResult, TurnEnd))
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n)")
"""A part of a line that a terminal shows no longer, such as the earlier states of a progress bar."""


def _clean(event: Any) -> Any:
    """Return an event whose text is as a terminal shows it: without colours, links and what was overwritten."""
    field = "reason" if type(event) is TurnEnd else "text"
    before = getattr(event, field)
    text = remove_terminal_codes(before)
    if "\r" in text and type(event) is ToolResult:
        text = _OVERWRITTEN.sub("", text)
    return event if text == before else event._replace(**{field: text})


_PLAIN_SUCCESS = ToolOutcome(failed=False)
_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?(?:plugin_)?baton_")
_OWN_COMMAND = re.compile(r"\s*(?:\S*/)?baton(?:\s|$)")


def _is_own(name: str, use: ToolUse) -> bool:
    """Whether a call only runs baton, which is not part of the session's work."""
    return bool(_OWN_TOOL.match(name) or _OWN_COMMAND.match(use.command or ""))


_USUAL_KEYS = frozenset(
    ("name", "side", "mark", "files", "names", "reads", "searches", "command", "makings", "repositories", "changed",
     "later", "removed", "restores", "names_of", "dropped")
)  # fmt: skip
"""The keys that are kept of a call without a todo list, task or plan."""
_FIRST_LATE_FIELD = ToolUse._fields.index("todos")
_NO_LATE_FIELDS = (None,) * (len(ToolUse._fields) - _FIRST_LATE_FIELD)
"""The last fields of a tool use (see `_keep_for_result`), which most tool uses do not have."""


def _keep_for_result(use: ToolUse) -> Table:
    """Return the todo list, todo change, task or plan of a tool use, which is applied when the result comes."""
    kept: Table = {}
    if use.todos is not None:
        kept["todos"] = [list(todo) for todo in use.todos]
    for name in ("change", "task"):
        if (value := getattr(use, name)) is not None:
            kept[name] = list(value)
    return kept | ({"plan": use.plan} if use.plan is not None else {})


def _describe_origin(waiting: Table) -> str:
    return "subagent" if waiting["side"] else "transcript"
