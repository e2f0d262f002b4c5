"""Turn what git, ssh and servers print into errors with a hint and without passwords, or into the outcome of a push."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from baton_git.core.errors import AccessDenied, RemoteError, Unreachable
from baton_git.core.names import Oid
from baton_git.core.output import one_line
from baton_git.git.store import ObjectDraft

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s'\"]+", re.IGNORECASE)
_LOGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{0,30})://(?P<login>[^/\s'\"]*)@", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:(?:fatal|error|ssh|remote|ERROR|FATAL): )+")
_SEVERE = re.compile(r"^(?:fatal|error|remote|ERROR|FATAL): ")
_GENERIC = re.compile(r"Could not read from remote repository|^and the repository exists|^Please make sure|^\s*$")
_LONGEST: Final = 300
_MOST_LINES: Final = 100

_ACCESS_RULES: Final = (
    (
        r"dubious ownership|safe\.directory",
        "if you trust that repository, run: git config --global --add safe.directory <the folder in this message>",
    ),
    (
        r"host key verification failed",
        "connect to that host once with ssh, check its key, and accept it",
    ),
    (
        r"permission denied|too many authentication failures|no supported authentication",
        "check the ssh key for that host (ssh-add -l), or the permissions of the folder",
    ),
    (
        (
            r"authentication failed|could not read (?:username|password)|terminal prompts disabled|unauthorized"
            r"|(?:returned error:|http resp) 40[137]|access denied(?! or)|invalid (?:username|credentials)"
        ),
        "log in once with git ls-remote {remote}, so that git's credential helper stores the password",
    ),
    (
        (
            r"repository .*not found|not exported|does not appear to be a git repository|DENIED|(?:error:|resp) 404"
            r"|no such file or directory|not a git repository|project .*not (?:be )?found|does not exist"
        ),
        "check the address (git remote -v), and your access to that repository",
    ),
)
_NETWORK_RULES: Final = (
    (
        r"could not resolve|name or service not known|temporary failure in name|no address associated|nodename nor",
        "check the name of the host and the network, and try again",
    ),
    (
        (
            r"connection (?:refused|timed out|reset|closed)|timed out|no route to host|network is unreachable"
            r"|failed to connect|(?:couldn't|could not|unable to) connect|hung up|early eof|unexpected disconnect"
            r"|empty reply|broken pipe|kex_exchange|(?:returned error:|http resp) 5\d\d|recv failure|send failure"
            r"|transfer closed|remote end closed|closed the connection|eof occurred|connection aborted"
        ),
        "check the network and the server, and try again",
    ),
)
_MISMATCH = re.compile(r"mismatched algorithms|does not support this repository's hash algorithm")
_KINDS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), kind, hint)
    for kind, rules in ((AccessDenied, _ACCESS_RULES), (Unreachable, _NETWORK_RULES))
    for pattern, hint in rules
)


def mask_logins(text: str) -> str:
    """Mask logins and query strings of URLs; the user name of an ssh address is kept, because it is not secret."""
    return _ADDRESS.sub(_without_query, _LOGIN.sub(_without_login, text))


def _without_login(match: re.Match[str]) -> str:
    user, colon, _ = match["login"].partition(":")
    secret = match["scheme"].lower().startswith("http") or not user
    return f"{match['scheme']}://{'***' if secret else user + (':***' if colon else '')}@"


def _without_query(match: re.Match[str]) -> str:
    address, _, query = match[0].partition("?")
    return f"{address}?***" if query else match[0]


def mask_line(text: str) -> str:
    """Return a line for the terminal: logins masked, without control characters, and limited in length."""
    return one_line(mask_logins(text), _LONGEST)


def list_server_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the last 100 lines that server hooks printed, without empty lines and git's progress lines."""
    shown = [mask_line(line) for line in lines[-_MOST_LINES:]]
    return tuple(line for line in shown if line and not is_progress(line))


def is_progress(line: str) -> bool:
    """Return whether a line is one of git's progress messages."""
    return bool(re.match(r"(?:\w+ing (?:\w+ )?(?:objects|deltas|references|connectivity|files)|Total \d)", line))


def remote_error(name: str, text: str) -> RemoteError:
    """Return the error for git's output `text` about the remote `name`."""
    quoted = shlex.quote(name)
    printed = [line for line in text.splitlines() if not line.startswith("warning: ")]
    lines = [line for line in printed if not _GENERIC.search(line)]
    mismatch = next((line for line in lines if _MISMATCH.search(line)), None)
    if mismatch is not None:
        hint = f"a clone must have the object format of its remote; make a new clone: git clone {quoted}"
        return RemoteError(f"{name}: {_core(mismatch)}", hint=hint, remote=name)
    for pattern, kind, hint in _KINDS:
        for line in lines:
            if pattern.search(line):
                return kind(f"{name}: {_core(line)}", hint=hint.replace("{remote}", quoted), remote=name)
    candidates = (
        [line for line in lines if _SEVERE.match(line)]
        or lines
        or printed
        or text.splitlines()
        or ["git gave no reason"]
    )
    hint = f"to see the cause, run: git ls-remote {quoted}"
    return RemoteError(f"{name}: {_core(candidates[-1])}", hint=hint, remote=name)


def timeout_error(name: str, seconds: float) -> Unreachable:
    """Return the error for a remote that did not answer within `seconds`."""
    hint = "check the network and the server; if the server is only slow, allow more time"
    return Unreachable(
        f"{name}: no answer within {round(seconds, 1):g} s", hint=hint, remote=name, seconds=seconds, is_slow=True
    )


def _core(line: str) -> str:
    return _PREFIX.sub("", mask_line(line))


# --- the request to push a ref, and its outcome: git or the server may reject it

_MOVING = re.compile(
    r"stale info|fetch first|needs force|already exists|remote ref updated|failed to (?:lock|update ref)"
    r"|(?:cannot|unable to|could not) lock|incorrect old value|reference does not exist|is at \w+ but expected"
)  # fmt: skip
_IN_THE_WAY = re.compile(r"exists; cannot create|refname conflict")


class Push(NamedTuple):
    """A request to move `ref` of the remote from `expected` (None: it must not exist) to `new` (None: delete it).

    Attributes:
        draft: the objects of `new` that are not stored in the repository.
    """

    ref: str
    new: Oid | None
    expected: Oid | None
    draft: ObjectDraft | None = None


class PushAccepted(NamedTuple):
    """The server moved the ref to the new commit, or deleted it as requested."""


class PushOvertaken(NamedTuple):
    """The ref has an unexpected value or is being moved by another client: fetch, merge, and push again."""

    why: str


class PushRefused(NamedTuple):
    """The server refused the push. `server_lines`: the output of its hooks, line by line."""

    why: str
    server_lines: tuple[str, ...]

    def may_be_rule_for_branches(self, ref: str) -> bool:
        """Whether a rule of the server for branches may be the reason, so that a ref that is no branch may be accepted.

        Baton's own hook on a server checks the content, which another ref does not change.
        """
        return ref.startswith("refs/heads/") and not any(line.startswith("baton: ") for line in self.server_lines)


PushOutcome = PushAccepted | PushOvertaken | PushRefused


def classify_client_rejection(why: str) -> PushOutcome:
    """Return the outcome for `[rejected] (why)`: git pushed nothing, because the ref has an unexpected value."""
    return PushOvertaken(mask_line(why))


def classify_server_rejection(why: str, printed: list[str]) -> PushOutcome:
    """Return the outcome for `[remote rejected] (why)`; `printed` has the output of the server's hooks.

    Servers report a lost race in various words. A conflict with the name of another ref is a refusal, because a retry
    cannot succeed. A bare "non-fast-forward", which comes from receive.denyNonFastForwards, is a refusal too.
    """
    lines = list_server_lines(printed)
    if _MOVING.search(why) and not any(_IN_THE_WAY.search(text) for text in (why, *lines)):
        return PushOvertaken(mask_line(why))
    return PushRefused(mask_line(why), lines)
