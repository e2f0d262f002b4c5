"""Codex: `codex exec PROMPT`, as plain `codex PROMPT` needs a terminal; it tells tokens, but no cost."""

from __future__ import annotations

from collections.abc import Mapping

from baton_git.agents.launcher import Launch, Report, harmless, objects, text, whole


def launch(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    """What there is of context goes in over standard input, which Codex appends to the prompt."""
    return Launch((executable, "exec", "--json", *extra, harmless(prompt)), system_prompt or None)


def in_window(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    said = f"{prompt}\n\n{system_prompt}" if system_prompt else prompt
    return Launch((executable, *extra, harmless(said)))


def report(output: str) -> Report:
    """A stream of events: the last message of the agent is its answer, and each turn tells what it used."""
    answer, session, tokens, is_counted = "", None, 0, False
    for one in objects(output):
        kind, item, usage = one.get("type"), one.get("item"), one.get("usage")
        if kind == "thread.started":
            session = text(one.get("thread_id")) or None
        elif kind == "item.completed" and isinstance(item, Mapping) and item.get("type") == "agent_message":
            answer = text(item.get("text"))
        elif kind == "turn.completed" and isinstance(usage, Mapping):
            # cached and reasoning tokens are parts of these two
            tokens += whole(usage.get("input_tokens")) + whole(usage.get("output_tokens"))
            is_counted = True
    return Report(answer, session, None, tokens if is_counted else None)
