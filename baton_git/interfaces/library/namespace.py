"""Open a namespace and call the verbs as its methods."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Self

from baton_git.core.names import AgentId, SessionId
from baton_git.core.verb import VerbFunction
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.library.verb_methods import VerbMethods


class OpenNamespace(VerbMethods):
    """An open namespace with the verbs as methods. Use it in a `with` block or call `close`.

    The methods raise the errors of `baton_git.core.errors`; actions reserved for a person raise `NeedsHuman`.

    Attributes:
        session: the session that acts: the one passed to `open` or begun by `boot`; None after `wrap` has ended it.
    """

    def __init__(self, call: Call) -> None:
        self._call = call
        self._stack = ExitStack()
        self._workspace = self._stack.enter_context(call.workspace())
        self.session = self._workspace.complete_session(call.settings.options.session)

    @property
    def name(self) -> str:
        """The name of the namespace."""
        return str(self._workspace.branch.namespace)

    def run_verb(self, function: VerbFunction[Any, Any], *args: Any, **fields: Any) -> Any:
        """Run a verb and return its result. The arguments are the fields of the verb's input, or one input object.

        Raises:
            BatonError: the verb failed.
            InvalidArgument: a value is invalid for its field, or two values contradict each other.
            TypeError: more positional arguments are passed than the verb has fields.
        """
        verb = function.verb
        verb.check_namespace(self._workspace)
        workspace = replace(self._workspace, actor=replace(self._workspace.actor, session=self.session))
        bound = function.bind(*args, now=self._call.now, **fields)
        result = verb.run(workspace, self._call.now, bound)
        if verb.session == "begins":
            self.session = result.session
            self._move_to(result.namespace)
        elif verb.session == "ends":
            self.session = None
        return result

    def _move_to(self, namespace: str) -> None:
        """Act in the namespace that `boot` found on the remote from now on."""
        self._call = self._call.on(namespace)
        branch = replace(self._workspace.branch, namespace=self._call.settings.namespace)
        self._workspace = replace(self._workspace, branch=branch)

    def close(self) -> None:
        """Close the repository."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_namespace(
    path: str | PathLike[str], namespace: str | None, session: str | None, agent: str | None, *, create: bool
) -> OpenNamespace:
    """Open a namespace, as `baton_git.open` documents it."""
    session = None if session is None else SessionId(session).text
    agent = None if agent is None else AgentId(agent).text
    return OpenNamespace(Call(Settings(CommonOptions(fspath(path), namespace, session, agent, create))))
