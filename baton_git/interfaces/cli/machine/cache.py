"""`baton cache`: use a session-baton server through a local cache, which also works while the server is unreachable."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import click

from baton_git.core.errors import AccessDenied, InvalidArgument, RemoteError, Unreachable
from baton_git.core.output import count_noun, flat
from baton_git.core.redaction import Redaction
from baton_git.interfaces.cli.app import INPUT_FILE, JSON, SECONDS, App, group, make_app, read_bytes
from baton_git.interfaces.cli.common_command import CommonCommand
from baton_git.interfaces.cli.error_handler import CONFLICT, FAILED
from baton_git.interfaces.cli.machine.cache_words import describe_outcome, suggest_resolving, tell_details
from baton_git.interfaces.context.client_cache import cache_folder, find_server_url
from baton_git.interfaces.context.process import read_token
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.systems.imported import parse_object
from baton_git.systems.session_baton.cache_folder import CacheFolder
from baton_git.systems.session_baton.caching import (
    BatonCache,
    CacheListing,
    CacheOutcome,
    Choice,
    SentDocument,
    list_entries,
    list_pending,
    list_pending_elsewhere,
    make_send_command,
    read_baton,
    resolve_conflict,
    send_pending,
    send_waiting,
    write_baton,
)
from baton_git.systems.session_baton.http_client import BatonServer, ServerAddress, ServerAnswer

_URL_HELP = "The server. Default: BATON_URL, or git config --global baton.url."


def _cache_command(
    name: str, short_help: str, *, uses_server: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that declares a command on the cache.

    Args:
        uses_server: whether the command uses the server. If so, its function gets the `App` and the `BatonCache`, else
            the `App` and the `CacheFolder`.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run_with_cache(json_fields: str | None, folder: Path | None, **rest: Any) -> Any:
            app = make_app(Settings(CommonOptions()), json_fields)
            folder_cache = CacheFolder(folder or cache_folder())
            if not uses_server:
                return function(app, folder_cache, **rest)
            server = BatonServer(_find_server(rest.pop("url")), read_token(), rest.pop("timeout"))
            return function(app, BatonCache(folder_cache, server), **rest)

        place = click.Path(path_type=Path, file_okay=False)
        options = [
            click.option("--folder", type=place, help="The cache. Default: ~/.claude/loop/batons."),
            JSON,
        ]
        if uses_server:
            options += [
                click.option("--url", metavar="URL", help=_URL_HELP),
                click.option(
                    "--timeout", type=SECONDS, default=5.0, show_default=True, help="Seconds for each request."
                ),
            ]
        return click.command(name, cls=CommonCommand, short_help=short_help)(
            functools.reduce(lambda done, option: option(done), options, run_with_cache)
        )

    return decorate


def _find_server(named: str | None) -> ServerAddress:
    """Return the address of the server.

    Raises:
        InvalidArgument: no server is named.
    """
    url = named if named is not None else find_server_url()
    if not url:
        hint = "give --url URL, or set BATON_URL or git config --global baton.url"
        raise InvalidArgument("no server is named", hint=hint)
    return ServerAddress.parse(url)


@_cache_command("read", "Print a server's document, and store it in the cache.")
@click.argument("namespace", metavar="NS")
def read_command(app: App, cache: BatonCache, namespace: str) -> None:
    """Print the document of a namespace from a session-baton server, and store it in the local cache.

    A document that waits in the cache is sent first, and those of other namespaces afterwards. If the server is
    unreachable, the cached document is printed, or null, and the exit status is 0, so that a session can start without
    the server. The same happens if the server refuses the waiting document; --json then has the reason in `refused`. In
    --json, `source` is server, cache or none.

    BATON_API_TOKEN is the server's token; a wrong token is an error.

    \b
    baton cache read project:x --url http://127.0.0.1:9101
    BATON_URL=https://baton.example.org baton cache read work | jq .baton
    """
    outcome = read_baton(cache, namespace)
    source, answer = _choose_answer(outcome)
    data: dict[str, Any] = {"baton": answer.baton, "namespace": namespace, "updated_at": answer.updated_at}
    if answer.revision is not None:
        data["revision"] = answer.revision or None
    others = [] if outcome.offline else _send_others(cache, [namespace])
    if app.json:
        refused = {"refused": str(outcome.refused)} if outcome.refused is not None else {}
        data |= {"source": source, "status": outcome.entry.status, **refused, **_describe_others(others)}
    app.answer_json(data)
    if outcome.offline:
        app.say(
            f"baton: {outcome.offline}",
            f"offline: {_describe_offline(source, answer)}{_describe_owner(cache, outcome)}",
        )
        if outcome.entry.sync_state.local is not None and _describe_owner(cache, outcome):
            app.say(f"       {_suggest_send(cache, namespace)}")
    elif _describe_owner(cache, outcome):
        printed = (
            "the server's document, not stored in the cache"
            if source == "server"
            else "the document from the local cache"
        )
        app.say(
            f"{printed}: the cache has a document that waits for {outcome.entry.sync_state.url}",
            f"       {_suggest_send(cache, namespace)}",
        )
    elif outcome.answer is not None and outcome.answer.baton is None and outcome.entry.copy is not None:
        app.say(
            "the server has no document; the one in the cache was not removed", f"       {suggest_resolving(namespace)}"
        )
    elif outcome.refused is not None:
        app.say(
            f"baton: {outcome.refused}",
            f"the server refused the document that waits in the cache; this is the document of the {source}",
        )
    elif outcome.sent:
        app.say("the document that waited in the cache was sent")
    tell_details(app, outcome)
    _tell_others(app, others)


def _send_others(cache: BatonCache, besides: Collection[str]) -> list[SentDocument]:
    """Send the documents of other namespaces that wait for this server, without those in conflict, in at most the time
    of one request."""
    others = [name for name in list_pending(cache, contested=False) if name not in besides]
    return send_waiting(cache, others, cache.server.seconds)


def _describe_others(others: Sequence[SentDocument]) -> dict[str, Any]:
    """Return what became of the documents of other namespaces, as data for --json; nothing if none waited."""
    described = [
        {"namespace": other.namespace, "sent": other.is_sent, "why": "" if other.is_sent else other.describe()}
        for other in others
    ]
    return {"others": described} if described else {}


def _tell_others(app: App, others: Sequence[SentDocument]) -> None:
    app.say(*(flat(line) for line in map(SentDocument.describe, others) if line))


def _choose_answer(outcome: CacheOutcome) -> tuple[str, ServerAnswer]:
    """Return the source of what to print (`server`, `cache` or `none`), and what to print."""
    if outcome.answer is not None:
        return "server", outcome.answer
    entry = outcome.entry
    if entry.copy is None:
        return "none", ServerAnswer(None, None)
    seen = entry.sync_state.seen
    if entry.sync_state.local is None and seen is not None:
        return "cache", ServerAnswer(entry.copy, seen.updated_at, seen.revision)
    date = entry.copy.get("updated_at")
    return "cache", ServerAnswer(entry.copy, date if isinstance(date, str) else None)


def _suggest_send(cache: BatonCache, namespace: str) -> str:
    return f"to compare it with this server's and send it: {flat(make_send_command(cache, namespace))}"


def _describe_owner(cache: BatonCache, outcome: CacheOutcome) -> str:
    """Return ` of URL` if the cached document is of another server; else an empty text."""
    url = outcome.entry.sync_state.url
    return f" of {url}" if url not in ("", cache.url) else ""


def _describe_offline(source: str, answer: ServerAnswer) -> str:
    if source == "none":
        return "there is no document in the local cache either"
    return f"the document from the local cache (updated_at {flat(answer.updated_at or 'unknown')})"


@_cache_command("write", "Write a document to a server and to the cache.")
@click.argument("namespace", metavar="NS")
@click.option(
    "--file",
    "-f",
    "file",
    required=True,
    type=INPUT_FILE,
    metavar="FILE",
    help="The document; - reads standard input.",
)
def write_command(app: App, cache: BatonCache, namespace: str, file: str) -> int | None:
    """Write a whole document to a session-baton server and to the local cache.

    If the server is unreachable, the document waits in the cache (`pending_upload`, exit status 0). The next read,
    write or send of any namespace sends it, and so does the next baton boot. If the server's document has changed since
    it was read, this is a conflict: both versions are compared, neither is replaced, and the exit status is 3. Secrets
    are removed before anything is stored or sent.

    \b
    baton cache write project:x --file baton.json --url http://127.0.0.1:9101
    jq '.baton' answer.json | baton cache write project:x --file -
    """
    baton = parse_object(read_bytes(file), where=file)
    redactions: list[Redaction] = []

    def tell(new: tuple[Redaction, ...]) -> None:
        redactions.extend(new)
        app.say(*(f"redacted: {redaction.kind} in {flat(redaction.path)}" for redaction in new))

    try:
        outcome = _keep_refused(lambda: write_baton(cache, namespace, baton, tell))
    except (Unreachable, AccessDenied):
        raise
    except RemoteError:  # the server refuses this document, and perhaps not the others
        _tell_others(app, _send_others(cache, [namespace]))
        raise
    others = [] if outcome.offline else _send_others(cache, [namespace])
    data = {**describe_outcome(outcome), **_describe_others(others)}
    if redactions:
        data["redactions"] = [redaction._asdict() for redaction in redactions]
    app.answer_json(data)
    if outcome.offline:
        app.say(
            f"baton: {outcome.offline}", "offline: the document waits in the local cache; the next command sends it"
        )
    tell_details(app, outcome)
    _tell_others(app, others)
    return CONFLICT if outcome.conflict else None


def _keep_refused(call: Callable[[], CacheOutcome]) -> CacheOutcome:
    """Run a write; if the server refuses it, add to the error's hint that the document waits in the cache."""
    try:
        return call()
    except Unreachable:
        raise
    except RemoteError as error:
        hint = f"{error.hint}; " if error.hint else ""
        raise type(error)(str(error), hint=f"{hint}the document waits in the local cache", **error.data) from error


@_cache_command("send", "Send waiting documents, or resolve a conflict.")
@click.argument("namespaces", nargs=-1, metavar="[NS]…")
@click.option("--all", "everything", is_flag=True, help="Send all waiting documents; the same as naming no NS.")
@click.option("--ours", is_flag=True, help="Resolve a conflict: your document replaces the server's.")
@click.option("--theirs", is_flag=True, help="Resolve a conflict: the server's document replaces yours.")
@click.option("--merge", is_flag=True, help="Resolve a conflict: merge both, by record and field.")
def send_command(
    app: App, cache: BatonCache, namespaces: tuple[str, ...], everything: bool, ours: bool, theirs: bool, merge: bool
) -> int | None:
    """Send the documents that wait in the local cache, or resolve a conflict.

    A conflict must be shown before it can be resolved: if it was not shown yet, or the server's document has changed
    since, this command only shows it. A replaced version is kept in `.baton/kept/` in the cache. A document that waits
    for another server is sent to this one only if you name its NS. With an NS, the documents of other namespaces that
    wait for this server are sent, too.

    Exit status: 3 if a conflict remains, 1 if the server is unreachable or refuses a document, or a document waits for
    another server.

    \b
    baton cache send --all
    baton cache send project:x --merge
    """
    choices = [name for name, given in (("ours", ours), ("theirs", theirs), ("merge", merge)) if given]
    if len(choices) > 1:
        raise click.UsageError(f"give one of {', '.join(f'--{option}' for option in choices)}")
    choice = choices[0] if choices else None
    if choice is not None and (len(namespaces) != 1 or everything):
        raise click.UsageError(f"--{choice} needs exactly one NS")
    if everything and namespaces:
        raise click.UsageError("give namespaces or --all, not both")
    if choice is not None:
        outcomes = [resolve_conflict(cache, namespaces[0], cast("Choice", choice))]
    else:
        outcomes = list(_send_all(cache, list(namespaces) or list_pending(cache)))
    is_reached = bool(namespaces) and not any(outcome.offline for outcome in outcomes)
    others = _send_others(cache, namespaces) if is_reached else []
    elsewhere = [] if namespaces else list_pending_elsewhere(cache)
    sent = [other.outcome for other in others if other.outcome is not None]
    app.answer([describe_outcome(outcome) for outcome in (*outcomes, *sent)], "")
    if not outcomes:
        app.say(f"no document waits for {cache.url}" if elsewhere else "no document waits to be sent")
    for outcome in outcomes:
        app.say(*_describe_sent(outcome, choice))
        tell_details(app, outcome)
    _tell_others(app, others)
    for name, url in elsewhere:
        app.say(f"{flat(name)}: the document waits for {flat(url)}", f"       {_suggest_send(cache, name)}")
    if any(outcome.conflict for outcome in outcomes):
        return CONFLICT
    return FAILED if elsewhere or any(outcome.offline or outcome.refused for outcome in outcomes) else None


def _send_all(cache: BatonCache, names: list[str]) -> Iterator[CacheOutcome]:
    """Send the waiting documents one after the other; stop if the server is unreachable."""
    for name in names:
        outcome = send_pending(cache, name)
        yield outcome
        if outcome.offline:
            return


def _describe_sent(outcome: CacheOutcome, choice: str | None) -> list[str]:
    name = flat(outcome.entry.sync_state.namespace)
    if outcome.offline:
        return [f"baton: {outcome.offline}", f"{name}: the document still waits in the local cache"]
    if outcome.refused is not None:
        hint = [f"       {outcome.refused.hint}"] if outcome.refused.hint else []
        return [f"baton: {outcome.refused}", *hint, f"{name}: the document still waits in the local cache"]
    if outcome.conflict:
        return []
    if outcome.is_replaced:
        return [f"{name}: the server's document replaced yours in the cache"]
    if choice is not None and not outcome.sent:
        return [f"{name}: no conflict to resolve; the server has the same document"]
    return [f"{name}: {'sent' if outcome.sent else 'no document waits'}"]


@_cache_command("status", "List the documents in the local cache.", uses_server=False)
def status_command(app: App, folder: CacheFolder) -> None:
    """List the documents in the local cache and their status: synced, waiting to be sent, or in conflict.

    This does not contact a server.

    \b
    baton cache status
    baton cache status --json | jq '.[] | select(.status != "synced")'
    """
    entries = list(list_entries(folder))
    app.answer([_describe_listing(entry) for entry in entries], "\n".join(_format_listing(entry) for entry in entries))
    if not entries:
        app.say("the cache is empty")
    kept = folder.list_kept()
    if kept:
        app.say(f"{count_noun(len(kept), 'replaced version')} in {kept[0].parent}")


def _describe_listing(listing: CacheListing) -> dict[str, Any]:
    data: dict[str, Any] = {"namespace": listing.namespace or None, "file": listing.file}
    if listing.entry is None:
        return {**data, "status": "unknown", "why": listing.why}
    sync_state = listing.entry.sync_state
    seen = sync_state.seen
    data |= {
        "status": listing.entry.status,
        "url": sync_state.url or None,
        "updated_at": seen.updated_at if seen else None,
    }
    data |= {"revision": seen.revision if seen else None}
    if listing.entry.rival is not None:
        data["file"], data["shared_with"] = None, listing.entry.rival
    if listing.entry.aside:
        data["damaged"] = [file.why for file in listing.entry.aside]
    return data


def _format_listing(listing: CacheListing) -> str:
    data = _describe_listing(listing)
    words = [data["status"], listing.namespace or listing.file]
    if data.get("revision") is not None:
        words.append(f"revision {data['revision']}")
    words += [str(data[name]) for name in ("updated_at", "url", "why") if data.get(name)]
    if "shared_with" in data:
        words.append(f"(stored in .baton, because {data['shared_with']} has the same file name)")
    return flat("  ".join([*words, *data.get("damaged", [])]))


COMMANDS = {
    "cache": group(
        "cache",
        "Use a session-baton server through a local cache, which also works while the server is unreachable.",
        [read_command, write_command, send_command, status_command],
    )
}
