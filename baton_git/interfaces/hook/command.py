"""The command `baton hook`, which the hooks of agent CLIs run.

For an event, it always exits with 0, and prints one JSON object or nothing; problems go to a log in the repository's
common directory, because anything else would disturb the agent. Most hooks have nothing to do, so most modules are
imported only when there is something to do.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from baton_git.agents.hook_events.fast_exit import is_idle, only_recalls
from baton_git.agents.hook_events.hook_session import HookSessionStore, note_event
from baton_git.agents.hook_events.payloads import (
    COMPACT,
    END,
    PROMPT,
    START,
    STOP,
    Payload,
    make_empty_reply,
    parse,
    reply,
)
from baton_git.agents.hook_events.repository_lookup import (
    RepositoryPaths,
    find_remaining_folder,
    find_repositories_below,
    find_repository,
    find_start_folder,
    has_moved_branch,
    may_hold_state,
)
from baton_git.agents.registry import AGENTS
from baton_git.interfaces.hook.asked_remotes import is_first_start
from baton_git.interfaces.hook.delayed_save import save_later

SECONDS = {START: 9.0, PROMPT: 9.0, COMPACT: 15.0, STOP: 9.0, END: 8.0}
"""Default time limits of hooks, in seconds. What a stopped hook did not save is saved by the next one."""
MAX_INPUT = 16 << 20
"""Maximum size in bytes of an event that is read from standard input."""
GC_THRESHOLD = 50_000
"""Number of new objects after which the garbage collector runs."""
LOG = "agents.log"
LOG_BYTES = 64 * 1024
"""Size in bytes from which the log is renamed to `agents.log.old` and started again; also the limit of one line."""

USAGE = """Usage: baton hook [--agent claude|codex|gemini] [--check]

  Handle a hook event of an agent CLI, read as JSON from standard input: save the new facts of the session, and print
  context for the agent. Exits with 0 even after an error; problems are logged to baton/agents.log in the git directory.

  baton agents install claude     installs the hooks

Options:
  --agent NAME  The agent whose hook this is. By default it is detected from the event.
  --check       Import everything that a hook needs, and exit; fails if the installation is damaged.
  -h, --help    Show this message and exit.
"""


def main(arguments: Sequence[str]) -> int:
    """Run one hook. The exit status is 0, except for wrong arguments at a terminal and if `--check` fails."""
    if list(arguments) == ["--check"]:
        return _check_installation()
    agent = _parse_agent(arguments)
    if agent not in ("", *AGENTS):
        return _handle_other_arguments(arguments)
    try:
        return _handle_input(agent)
    except Exception:  # noqa: BLE001  no error may disturb the agent, and the log is not known here
        return _print(make_empty_reply(agent))


def _handle_input(agent: str) -> int:
    payload = parse(_read_input(), agent or None, os.environ)
    if payload is None:
        return _print(make_empty_reply(agent))
    start_folder = find_start_folder(payload, os.environ)
    folder = start_folder if os.path.isdir(start_folder) else _find_other_folder(payload, start_folder)
    repository = find_repository(os.environ.get("GIT_DIR") or folder)
    is_known = repository is not None and HookSessionStore(repository.common_dir).get(payload.agent, payload.session)
    payload = payload._replace(cwd=start_folder if start_folder and is_known else folder)
    if repository is not None and may_hold_state(repository) and payload.kind in (PROMPT, STOP):
        from baton_git.core.times import from_seconds, iso  # most hooks of other repositories need no time

        note_event(HookSessionStore(repository.common_dir), payload, iso(from_seconds(time.time())))
    if repository is None and payload.kind in (STOP, END) and payload.transcript and not payload.aside:
        tops = find_repositories_below(folder)
        if tops:
            handle_in_time(payload, folder, find_repository(tops[0]), tops)
    is_idle_here = is_idle(payload, repository, os.environ) and not is_first_start(payload, repository)
    if is_idle_here or _has_no_state(repository):
        return _print(make_empty_reply(payload.agent))
    if repository is not None and save_later(payload, repository.common_dir, os.environ):
        return _print(make_empty_reply(payload.agent))
    return handle_in_time(payload, folder, repository)


def _check_installation() -> int:
    """Import what hooks need; a damaged installation raises Python's own error."""
    from baton_git.interfaces.hook.handler import handle  # the same import as in `handle_in_time`

    return 0 if callable(handle) else 1


def _parse_agent(arguments: Sequence[str]) -> str:
    """Return the agent that the arguments name; empty if they name none, `?` if they are invalid."""
    match list(arguments):
        case []:
            return ""
        case ["--agent", name]:
            return name or "?"
        case [option] if option.startswith("--agent="):
            return option.partition("=")[2] or "?"
    return "?"


def _handle_other_arguments(arguments: Sequence[str]) -> int:
    """Print the help, or report wrong arguments; an agent, which has no terminal, receives an empty reply instead."""
    if list(arguments) in (["-h"], ["--help"]):
        print(USAGE, end="")
        return 0
    if sys.stdin is None or not sys.stdin.isatty():  # settings of another version must not block an agent
        return _print(make_empty_reply(next((name for name in AGENTS if name in arguments), None)))
    print(f"baton hook: {' '.join(arguments)!r} is not --agent {'|'.join(AGENTS)}", file=sys.stderr)
    return 2


def _read_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read(MAX_INPUT).decode("utf-8", "replace")


def _find_other_folder(payload: Payload, removed: str) -> str:
    """Return the folder for a session whose own was removed: one in the repository that knows the session, if it is
    around the removed folder, or else the current folder."""
    repository = find_repository(removed) if removed else None
    if repository is not None and HookSessionStore(repository.common_dir).get(payload.agent, payload.session):
        return find_remaining_folder(removed, repository.common_dir)
    return _find_current_folder()


def _find_current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _has_no_state(repository: RepositoryPaths | None) -> bool:
    """Return whether the folder is outside of any repository, `BATON_REPO` is not set, and the user has no store."""
    if repository is not None or os.environ.get("BATON_REPO"):
        return False
    home = os.environ.get("XDG_DATA_HOME", "")
    home = home if home.startswith("/") else os.path.join(os.path.expanduser("~"), ".local", "share")
    return not os.path.isdir(os.path.join(home, "baton", "state.git"))


def handle_in_time(payload: Payload, folder: str, repository: RepositoryPaths | None, tops: Sequence[str] = ()) -> int:
    """Handle the event within its time limit, and print the reply.

    Args:
        tops: work trees of repositories below the folder of the session, in which it is only saved.
    """
    log = os.path.join(repository.common_dir, "baton", LOG) if repository is not None else os.devnull

    def give_up(*_: Any) -> None:
        log_problems(log, payload, [f"the hook was stopped after {seconds:g} s; the next one saves the rest"])
        os.write(1, _reply_to_failure(payload, seconds=seconds).encode("utf-8", "replace"))
        os._exit(0)

    seconds = (payload.kind == END and AGENTS[payload.agent].end_seconds) or SECONDS[payload.kind]
    handler = signal.signal(signal.SIGALRM, give_up)
    thresholds = gc.get_threshold()
    gc.set_threshold(GC_THRESHOLD)  # imported objects stay alive, so collecting while importing is wasted time
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        os.chdir(folder)
        output, problems = _run(payload, repository, tops)
    except Exception as error:  # noqa: BLE001  no error may disturb the agent
        output, problems = _reply_to_failure(payload, error=error), (_describe_error(error),)
    gc.set_threshold(*thresholds)
    signal.setitimer(signal.ITIMER_REAL, *timer)
    signal.signal(signal.SIGALRM, handler)
    log_problems(log, payload, problems)
    return 0 if tops else _print(output)


def _run(payload: Payload, repository: RepositoryPaths | None, tops: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Handle the event; return the reply, and problems for the log."""
    if repository is not None and not os.environ.get("BATON_REPO") and not has_moved_branch(repository):
        session = HookSessionStore(repository.common_dir).get(payload.agent, payload.session)
        if session is not None and only_recalls(payload, session):
            from baton_git.interfaces.hook.prompt_recall import answer_prompt, has_settings  # imports little of baton

            if has_settings(repository, session):
                try:
                    return reply(payload, answer_prompt(payload, repository, session)), ()
                except Exception as error:  # noqa: BLE001  the state can be read without the index of recall
                    return make_empty_reply(payload.agent), (_describe_error(error),)
    from baton_git.interfaces.context.process import skip_plugin_search

    skip_plugin_search()
    from baton_git.interfaces.hook.handler import handle  # imports most of baton

    if tops:
        from baton_git.interfaces.hook.sessions_above import save_below

        hook_reply = save_below(payload, tops)
    else:
        hook_reply = handle(payload)
    return reply(payload, hook_reply.context, hook_reply.block), hook_reply.problems


def _reply_to_failure(payload: Payload, *, error: Exception | None = None, seconds: float = 0.0) -> str:
    """Return the reply of a hook that failed, or was stopped after `seconds`: one line for the agent, if it can get it.

    The reply is empty if not even the line can be made, as in a damaged installation.
    """
    try:
        from baton_git.interfaces.hook.unreadable import can_tell, describe_timeout, describe_unreadable

        line = describe_unreadable(error) if error is not None else describe_timeout(seconds)
        return reply(payload, line if can_tell(payload) else "")
    except Exception:  # noqa: BLE001  no error may disturb the agent
        return make_empty_reply(payload.agent)


def _describe_error(error: Exception) -> str:
    from traceback import extract_tb  # only after an error

    frames = extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


def _print(text: str) -> int:
    """Print the reply; a closed pipe is not an error."""
    try:
        if text:
            os.write(1, text.encode("utf-8", "replace"))
    except OSError:
        pass
    return 0


def log_problems(log: str, payload: Payload, problems: Sequence[str]) -> None:
    """Append problems of a hook to its log; a log that is too long is renamed first."""
    if not problems:
        return
    from datetime import datetime  # only after an error

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
