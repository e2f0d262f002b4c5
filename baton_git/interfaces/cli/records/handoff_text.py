"""Format the facts of a session as text: as sections, or as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.core.output import flat

Facts = Mapping[str, Any]
_MARKS = {"completed": "x", "in_progress": ">"}


def render_sections(facts: Facts) -> str:
    """Return the facts as sections with headings, without empty ones."""
    sections = (
        ("Active Task", _task(facts)),
        (
            "In-Progress Work",
            [f"- [{_MARKS.get(todo['status'], ' ')}] {flat(todo['content'])}" for todo in _of(facts, "todo_state")],
        ),
        ("Commits This Session", [line for commit in _of(facts, "git_commits") for line in _commit(commit)]),
        ("Uncommitted Changes", ["```", *facts["git_status"].splitlines(), "```"] if facts.get("git_status") else []),
        (
            "Latest Prompts",
            [f"- {flat(prompt['text'])}{_mark(prompt)}" for prompt in _of(facts, "latest_prompts")[::-1]],
        ),
        ("Not Answered", _unanswered(facts)),
        ("Last Answer", _answer(facts)),
        ("Open Questions", [f"- {flat(question)}" for question in _of(facts, "open_questions")]),
        ("Next Steps", [f"- {flat(step)}" for step in _of(facts, "next_steps")]),
        (
            "Unresolved Errors",
            [f"- `{flat(error['command'])}`: {flat(error['text'])}" for error in _of(facts, "errors")],
        ),
        ("Files Being Modified", [f"- {flat(path)}" for path in _of(facts, "files_modified")]),
        ("Original Goal", facts.get("initial_goal", "").splitlines()),
        ("Recent Activity", [f"- {flat(activity)}" for activity in _of(facts, "recent_activity")]),
        (
            "Possible Decisions (heuristic)",
            [f"- {flat(decision['text'])} ({flat(decision['kind'])})" for decision in _of(facts, "key_decisions")],
        ),
        ("Unknown", [f"- {name}: {flat(why)}" for name, why in facts.get("unknown", {}).items()]),
        ("Left Out", [f"- {name}: {number} more" for name, number in facts.get("left_out", {}).items()]),
    )
    return "\n\n".join("\n".join([f"### {title}", *lines]) for title, lines in sections if lines)


def _of(facts: Facts, name: str) -> list[Any]:
    return list(facts.get(name) or ())


def _mark(prompt: Mapping[str, Any]) -> str:
    return f" ({_explain(prompt)})" if prompt.get("status") else ""


def _explain(turn: Mapping[str, Any]) -> str:
    """Return why a prompt has no answer."""
    return "the session ended first" if turn["status"] == "ended" else str(turn["status"])


def _task(facts: Facts) -> list[str]:
    task = facts.get("active_task")
    if not task:
        return []
    number = f" ({flat(task['id'])})" if task.get("id") else ""
    status = [f"Status: {flat(task['status'])}"] if task.get("status") else []
    return [f"**{flat(task['title'])}**{number}", *status, *(task.get("description") or "").splitlines()]


def _unanswered(facts: Facts) -> list[str]:
    turn = facts.get("unanswered")
    if not turn:
        return []
    reason = f": {flat(turn['reason'])}" if turn.get("reason") else ""
    said = [f"It had said: {flat(turn['said'])}"] if turn.get("said") else []
    return [f"{flat(turn['prompt'])} ({_explain(turn)}{reason})", *said]


def _answer(facts: Facts) -> list[str]:
    answer = facts.get("last_answer") or {}
    asked = [f"To: {flat(answer['prompt'])}"] if answer.get("prompt") else []
    return [*asked, *(answer.get("text") or "").splitlines()]


def _commit(commit: Facts) -> Iterator[str]:
    doubt = {True: "", False: " (not in the repository)", None: " (not verified)"}[commit.get("verified")]
    doubt = " (on no branch now)" if commit.get("on_branch") is False else doubt
    doubt = " (made in a turn that was taken back)" if commit.get("found") == "left" else doubt
    yield f"- `{commit['hash'] or '?'}` {flat(commit['message'])}{doubt}"
    yield from (f"      {flat(line)}" for line in (commit.get("stat") or "").splitlines())


def render_sentences(facts: Facts) -> str:
    """Return the facts as sentences, a paragraph for each kind of fact."""
    return "\n\n".join(_sentences(facts))


def _sentences(facts: Facts) -> Iterator[str]:
    if goal := facts.get("initial_goal"):
        yield f"The session was asked: {goal}"
    if prompts := _of(facts, "latest_prompts"):
        yield f"It was last asked: {prompts[-1]['text']}"
    if turn := facts.get("unanswered"):
        reason = f" ({turn['reason']})" if turn.get("reason") else ""
        yield f"That has no answer: {_explain(turn)}{reason}."
    if answer := facts.get("last_answer"):
        asked = f" “{flat(answer['prompt'])}”" if answer.get("prompt") else ""
        yield f"It answered{asked}: {answer['text']}"
    if task := facts.get("active_task"):
        state = f", {flat(task['status'])}" if task.get("status") else ""
        yield f"It was working on {flat(task['title'])}{state}."
    todos = _of(facts, "todo_state")
    lists = (
        ("Done: {}.", [todo["content"] for todo in todos if todo["status"] == "completed"]),
        ("At work: {}.", [todo["content"] for todo in todos if todo["status"] == "in_progress"]),
        ("Still to do: {}.", [todo["content"] for todo in todos if todo["status"] not in ("completed", "in_progress")]),
        (
            "It committed {}.",
            [f"{commit['hash'] or '?'} ({commit['message']})" for commit in _of(facts, "git_commits")],
        ),
        ("It asked: {}", _of(facts, "open_questions")),
        ("It named these next steps: {}.", _of(facts, "next_steps")),
        ("These commands failed, and did not succeed later: {}.", [error["command"] for error in _of(facts, "errors")]),
        ("It changed {}.", _of(facts, "files_modified")),
        ("Not committed:\n{}", [facts["git_status"]] if facts.get("git_status") else []),
        ("Its last actions: {}.", _of(facts, "recent_activity")),
        ("Possible decisions (heuristic): {}", [decision["text"] for decision in _of(facts, "key_decisions")]),
        ("Could not be determined: {}.", [f"{name}: {why}" for name, why in facts.get("unknown", {}).items()]),
        ("Not kept: {}.", [f"{number} more of {name}" for name, number in facts.get("left_out", {}).items()]),
    )
    for words, items in lists:
        if items:
            yield words.format("; ".join(item if item == facts.get("git_status") else flat(item) for item in items))


FORMATS = {"structured": render_sections, "narrative": render_sentences}
