"""Start Gemini CLI: `gemini -p PROMPT`, or in a window `gemini -i PROMPT`. It reports tokens, but no cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton_git.agents.launcher import Launch, SessionReport, escape_argument, read_objects, read_text, read_token_count


def launch(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    """Return the command. The system prompt is its standard input, which Gemini puts before the prompt."""
    argv = (executable, "-p", escape_argument(prompt), "--session-id", session, "-o", "json", *extra)
    return Launch(argv, system_prompt or None, session)


def in_window(executable: str, prompt: str, system_prompt: str, session: str, extra: tuple[str, ...] = ()) -> Launch:
    text_ = f"{prompt}\n\n{system_prompt}" if system_prompt else prompt
    return Launch((executable, "-i", escape_argument(text_), "--session-id", session, *extra), None, session)


def report(output: str) -> SessionReport:
    """Parse the one object of the output, which may follow lines of other text; without one, all of it is the reply."""
    start = output.find("\n{") + 1 if not output.startswith("{") else 0
    for item in read_objects(output[start:]):
        if "response" in item:
            counts = list(_list_token_totals(item.get("stats")))
            return SessionReport(
                read_text(item["response"]),
                read_text(item.get("session_id")) or None,
                None,
                sum(counts) if counts else None,
            )
    return SessionReport(output.strip())


def _list_token_totals(stats: Any) -> Iterator[int]:
    models = stats.get("models") if isinstance(stats, Mapping) else None
    for model in models.values() if isinstance(models, Mapping) else ():
        tokens = model.get("tokens") if isinstance(model, Mapping) else None
        if isinstance(tokens, Mapping):
            yield read_token_count(tokens.get("total"))
