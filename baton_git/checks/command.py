"""Check method `command`: does an approved program exit with status 0?"""

from __future__ import annotations

import signal

from baton_git.checks.outcome import CheckSpec, Failed, NotApproved, Outcome, Passed, Unknown, World, no_answer
from baton_git.core.child_environment import without_secrets
from baton_git.core.output import one_line
from baton_git.git import child_process

_TAIL_BYTES = 4096
_LINE_LIMIT = 200


def check(spec: CheckSpec, world: World) -> Outcome:
    """Run exactly the approved argv in the work tree, without a shell and with an empty stdin.

    `Failed` if the program exits with a status other than 0, or is ended by a signal. `Unknown` if no command is
    given, the program is not approved on this machine (`NotApproved`), there is no work tree, or the program cannot be
    started.

    If the time limit is reached or the check is abandoned, the program and its child processes are killed, and the
    outcome is `Unknown` too.
    """
    if not spec.argv:
        return Unknown("no command is given")
    refusal = world.refusal(spec.argv)
    if refusal is not None:
        return NotApproved(refusal)
    if world.folder is None or not world.folder.is_dir():
        return Unknown("there is no work tree to run the command in")
    # In a hook, git sets GIT_* to its own repository, index and prefix. A git command started by the program would use
    # them instead of its current directory.
    environment = {
        name: value for name, value in without_secrets(world.environment).items() if not name.startswith("GIT_")
    }
    tail = bytearray()

    def keep_end(chunk: bytes) -> None:
        tail[:] = (tail + chunk)[-_TAIL_BYTES:]

    try:
        done = child_process.run(
            spec.argv, environment, world.folder, spec.timeout_seconds, on_stdout=keep_end,
            stop=world.abandoned.is_set, most_bytes=0, is_merged=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return Unknown(f"cannot run {spec.argv[0]!r}: {getattr(error, 'strerror', None) or error}")
    return no_answer(spec.timeout_seconds) if done is None else _judge(done.code, bytes(tail))


def _judge(status: int, tail: bytes) -> Outcome:
    if status == 0:
        return Passed()
    how = f"exit {status}" if status > 0 else f"ended by {signal.Signals(-status).name}"
    line = _last_line(tail)
    return Failed(f"{how}: {line}" if line else how)


def _last_line(output: bytes) -> str:
    """Return the last non-empty line without control characters, because it is shown on terminals and stored."""
    lines = output.decode(errors="replace").split("\n")
    shown = (one_line(line, len(line))[:_LINE_LIMIT] for line in reversed(lines))
    return next((line for line in shown if line), "")
