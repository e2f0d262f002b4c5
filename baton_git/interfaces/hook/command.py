"""`baton hook`: what the hooks of the agents' command lines call.

It always ends with 0, and prints one JSON object or nothing; its own troubles go to a log beside the repository, since
anything else would stand in the way of the agent. Most hooks have nothing to do, so everything but the standard library
is loaded only when there is something.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from baton_git.agents.hook_events.fast_exit import is_idle
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload, parse
from baton_git.agents.hook_events.replies import nothing, reply
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, find_repository
from baton_git.agents.hook_events.session_folder import home_of
from baton_git.agents.registry import AGENTS
from baton_git.interfaces.hook.delayed_save import save_later

SECONDS = {START: 9.0, PROMPT: 9.0, COMPACT: 15.0, STOP: 9.0, END: 8.0}
"""After which a hook gives up; what is left to save is saved by the next one."""
MAX_INPUT = 16 << 20
GC_THRESHOLD = 50_000
"""Objects after which the garbage collector looks for cycles."""
LOG = "agents.log"
LOG_BYTES = 64 * 1024

USAGE = """Usage: baton hook [--agent claude|codex|gemini] [--check]

  What a hook of an agent's CLI calls, with the event as JSON on standard input. Saves what changed in the session, and
  answers with the context to go on with. Always ends with 0; troubles stand in baton/agents.log beside the repository.

  baton agents install claude     installs the hooks

Options:
  --agent NAME  Whose hook it is; else told by the event.
  --check       Load all that a hook needs, do nothing, and fail if that fails.
  -h, --help    Show this message and exit.
"""


def main(arguments: Sequence[str]) -> int:
    """Run one hook; the exit status is 0 whatever happens, but for a mistake that a person makes at a terminal."""
    if list(arguments) == ["--check"]:
        return _check_installation()
    agent = _agent(arguments)
    if agent not in ("", *AGENTS):
        return _refuse(arguments)
    try:
        return _answer(agent)
    except Exception:  # noqa: BLE001  whatever it is must not stand in the way of the agent, and no log is known here
        return _print(nothing(agent))


def _answer(agent: str) -> int:
    payload = parse(_read(), agent or None, os.environ)
    if payload is None:
        return _print(nothing(agent))
    home = home_of(payload, os.environ)
    folder = home if os.path.isdir(home) else _here()
    place = find_repository(os.environ.get("GIT_DIR") or folder)
    payload = payload._replace(cwd=folder)
    if is_idle(payload, place, os.environ) or _is_elsewhere(place):
        return _print(nothing(payload.agent))
    if place is not None and save_later(payload, place.common_dir, os.environ):
        return _print(nothing(payload.agent))
    return handle_in_time(payload, folder, place)


def _check_installation() -> int:
    """Load what hooks need; a damaged installation fails with Python's own error."""
    from baton_git.interfaces.hook.agent_hook import handle  # as `handle_in_time` does

    return 0 if callable(handle) else 1


def _agent(arguments: Sequence[str]) -> str:
    """Return the agent that the arguments name: empty if they name none, `?` if they make no sense."""
    match list(arguments):
        case []:
            return ""
        case ["--agent", name]:
            return name or "?"
        case [option] if option.startswith("--agent="):
            return option.partition("=")[2] or "?"
    return "?"


def _refuse(arguments: Sequence[str]) -> int:
    if list(arguments) in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if sys.stdin is None or not sys.stdin.isatty():  # settings of another version must not block an agent
        return _print(nothing(next((name for name in AGENTS if name in arguments), None)))
    print(f"baton hook: {' '.join(arguments)!r} is not --agent {'|'.join(AGENTS)}", file=sys.stderr)
    return 2


def _read() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read(MAX_INPUT).decode("utf-8", "replace")


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _is_elsewhere(place: RepositoryPaths | None) -> bool:
    """Return whether there is no repository here, and the user has no store of their own."""
    if place is not None or os.environ.get("BATON_REPO"):
        return False
    home = os.environ.get("XDG_DATA_HOME", "")
    home = home if home.startswith("/") else os.path.join(os.path.expanduser("~"), ".local", "share")
    return not os.path.isdir(os.path.join(home, "baton", "state.git"))


def handle_in_time(payload: Payload, folder: str, place: RepositoryPaths | None) -> int:
    """Handle the event within the time that the agent gives."""
    log = os.path.join(place.common_dir, "baton", LOG) if place is not None else os.devnull

    def give_up(*_: Any) -> None:
        _note(log, payload, ["gave up: it took too long"])
        os.write(1, nothing(payload.agent).encode())
        os._exit(0)

    seconds = (payload.moment == END and AGENTS[payload.agent].end_seconds) or SECONDS[payload.moment]
    before = signal.signal(signal.SIGALRM, give_up)
    thresholds = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)  # what loading makes stays, and would be looked at again and again
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        os.chdir(folder)
        from baton_git.interfaces.context.process import skip_plugin_search

        skip_plugin_search()
        from baton_git.interfaces.hook.agent_hook import handle  # loads everything: only when there is something to do

        hook_reply = handle(payload)
        output, problems = reply(payload, hook_reply.context, hook_reply.block), hook_reply.problems
    except Exception as error:  # noqa: BLE001  whatever it is must not stand in the way of the agent
        output, problems = nothing(payload.agent), (_describe_error(error),)
    gc.set_threshold(*thresholds)
    signal.setitimer(signal.ITIMER_REAL, *timer)
    signal.signal(signal.SIGALRM, before)
    _note(log, payload, problems)
    return _print(output)


def _describe_error(error: Exception) -> str:
    from traceback import extract_tb  # only on the way out

    frames = extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _print(text: str) -> int:
    """Print the reply; an agent that does not listen any more is no error."""
    try:
        if text:
            os.write(1, text.encode("utf-8", "replace"))
    except OSError:
        pass
    return 0


def _note(log: str, payload: Payload, problems: Sequence[str]) -> None:
    """Append problems to the log; one that has grown too long begins anew."""
    if not problems:
        return
    from datetime import datetime  # only on the way out

    from baton_git.core.output import one_line

    now = datetime.now().astimezone().isoformat(timespec="seconds")
    lines = [f"{now} {payload.agent} {payload.event} {payload.session}: {problem}" for problem in problems]
    try:
        if os.path.exists(log) and os.path.getsize(log) > LOG_BYTES:
            os.replace(log, f"{log}.old")
        with open(log, "a", encoding="utf-8", errors="replace") as file:
            file.writelines(f"{one_line(line, LOG_BYTES)}\n" for line in lines)
    except OSError:
        pass
