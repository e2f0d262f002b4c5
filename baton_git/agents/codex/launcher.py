"""Start Codex with `codex exec PROMPT`; `codex PROMPT` needs a terminal. Codex reports tokens, but no cost."""

from __future__ import annotations

from collections.abc import Mapping

from baton_git.agents.launcher import Launch, SessionReport, escape_argument, read_objects, read_text, read_token_count


def launch(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    """Return the command. The system prompt is its standard input, which Codex appends to the prompt."""
    return Launch((executable, "exec", "--json", *extra, escape_argument(prompt)), system_prompt or None)


def in_window(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    text_ = f"{prompt}\n\n{system_prompt}" if system_prompt else prompt
    return Launch((executable, *extra, escape_argument(text_)))


def report(output: str) -> SessionReport:
    """Parse a stream of events: the answer is the agent's last message, the tokens are the sum over all turns."""
    answer, session, tokens, is_counted = "", None, 0, False
    for event in read_objects(output):
        kind, item, usage = event.get("type"), event.get("item"), event.get("usage")
        if kind == "thread.started":
            session = read_text(event.get("thread_id")) or None
        elif kind == "item.completed" and isinstance(item, Mapping) and item.get("type") == "agent_message":
            answer = read_text(item.get("text"))
        elif kind == "turn.completed" and isinstance(usage, Mapping):
            # cached and reasoning tokens are parts of these two
            tokens += read_token_count(usage.get("input_tokens")) + read_token_count(usage.get("output_tokens"))
            is_counted = True
    return SessionReport(answer, session, None, tokens if is_counted else None)
