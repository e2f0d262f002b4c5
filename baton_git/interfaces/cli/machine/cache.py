"""`baton cache`: a session-baton server elsewhere, with the local cache of its clients for when it is away."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import click

from baton_git.core.errors import InvalidArgument, RemoteError, Unreachable
from baton_git.core.redaction import Redaction
from baton_git.interfaces.cli.app import INPUT_FILE, JSON, SECONDS, App, flat, group, make_app, read_bytes
from baton_git.interfaces.cli.common_command import CommonCommand
from baton_git.interfaces.cli.error_handler import CONFLICT, FAILED
from baton_git.interfaces.cli.machine.cache_words import go_on, outcome_data, tell_rest
from baton_git.interfaces.context.process import read_token
from baton_git.interfaces.context.settings import CommonOptions, Settings, read_user_config
from baton_git.systems.session_baton.cache import CacheFolder
from baton_git.systems.session_baton.caching import (
    BatonCache,
    CacheListing,
    CacheOutcome,
    Choice,
    list_entries,
    list_waiting,
    list_waiting_elsewhere,
    make_send_command,
    read_baton,
    send_waiting,
    settle_conflict,
    write_baton,
)
from baton_git.systems.session_baton.client import BatonServer, ServerAddress, ServerAnswer
from baton_git.systems.session_baton.importers import parse_object

_URL_HELP = "The server; else BATON_URL, or git config --global baton.url."


def _cache_command(name: str, short_help: str, *, asks: bool = True) -> Callable[[Callable[..., Any]], click.Command]:
    """Declare a command on the cache folder; its function gets the `App`, and the `Cache` (`asks`) or its folder."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def run_with_cache(json_fields: str | None, folder: Path | None, **rest: Any) -> Any:
            app = make_app(Settings(CommonOptions()), json_fields)
            there = CacheFolder(folder or Path.home() / ".claude" / "loop" / "batons")
            if not asks:
                return function(app, there, **rest)
            server = BatonServer(_find_server(rest.pop("url")), read_token(), rest.pop("timeout"))
            return function(app, BatonCache(there, server), **rest)

        place = click.Path(path_type=Path, file_okay=False)
        options = [
            click.option("--folder", type=place, help="The cache; else ~/.claude/loop/batons."),
            JSON,
        ]
        if asks:
            options += [
                click.option("--url", metavar="URL", help=_URL_HELP),
                click.option("--timeout", type=SECONDS, default=5.0, show_default=True, help="Seconds for a request."),
            ]
        return click.command(name, cls=CommonCommand, short_help=short_help)(
            functools.reduce(lambda done, option: option(done), options, run_with_cache)
        )

    return decorate


def _find_server(named: str | None) -> ServerAddress:
    """Raises InvalidArgument when nobody says where the server is."""
    url = named if named is not None else os.environ.get("BATON_URL") or (read_user_config("baton.url") or [None])[-1]
    if not url:
        hint = "--url URL, BATON_URL, or git config --global baton.url URL"
        raise InvalidArgument("nobody says which server", hint=hint)
    return ServerAddress.parse(url)


@_cache_command("read", "Print a server's baton, and keep it in the cache.")
@click.argument("namespace", metavar="NS")
def read_command(app: App, cache: BatonCache, namespace: str) -> None:
    """Print the baton that a session-baton server has, and keep it in the local cache.

    What waits in the cache is sent first. Where the server cannot be reached the cached baton is printed, or null,
    and the exit status is 0 all the same: the start of a session is never held up. --json says which it was (`source`).
    So it is where the server refuses what waits (`refused`). A server that refuses us (a wrong token) is an error.
    The token is taken from BATON_API_TOKEN.

    \b
    baton cache read project:x --url http://127.0.0.1:9101
    BATON_URL=https://baton.example.org baton cache read work | jq .baton
    """
    outcome = read_baton(cache, namespace)
    source, answer = _choose_answer(outcome)
    data: dict[str, Any] = {"baton": answer.baton, "namespace": namespace, "updated_at": answer.updated_at}
    if answer.revision is not None:
        data["revision"] = answer.revision or None
    if app.json:
        refused = {"refused": str(outcome.refused)} if outcome.refused is not None else {}
        data |= {"source": source, "status": outcome.entry.status, **refused}
    app.answer_json(data)
    if outcome.offline:
        app.say(
            f"baton: {outcome.offline}",
            f"offline: {_describe_offline(source, answer)}{_describe_owner(cache, outcome)}",
        )
        if outcome.entry.note.local is not None and _describe_owner(cache, outcome):
            app.say(f"       {_suggest_send(cache, namespace)}")
    elif _describe_owner(cache, outcome):
        words = "the server's, not kept in the cache" if source == "server" else "baton from the local cache"
        app.say(f"{words}: one waits for {outcome.entry.note.url}", f"       {_suggest_send(cache, namespace)}")
    elif outcome.answer is not None and outcome.answer.baton is None and outcome.entry.copy is not None:
        app.say("the server has no baton; the one in the cache stays there", f"       {go_on(namespace)}")
    elif outcome.refused is not None:
        app.say(f"baton: {outcome.refused}", f"refused: what waits in the cache; this is the baton of the {source}")
    elif outcome.sent:
        app.say("what waited in the cache was sent")
    tell_rest(app, outcome)


def _choose_answer(outcome: CacheOutcome) -> tuple[str, ServerAnswer]:
    """Return the source of what to print (`server`, `cache` or `none`), and what to print."""
    if outcome.answer is not None:
        return "server", outcome.answer
    entry = outcome.entry
    if entry.copy is None:
        return "none", ServerAnswer(None, None)
    seen = entry.note.seen
    if entry.note.local is None and seen is not None:
        return "cache", ServerAnswer(entry.copy, seen.updated_at, seen.revision)
    date = entry.copy.get("updated_at")
    return "cache", ServerAnswer(entry.copy, date if isinstance(date, str) else None)


def _suggest_send(cache: BatonCache, namespace: str) -> str:
    return f"compare and send it to this server: {flat(make_send_command(cache, namespace))}"


def _describe_owner(cache: BatonCache, outcome: CacheOutcome) -> str:
    """Name the server of the cached baton, if it is another one."""
    url = outcome.entry.note.url
    return f" of {url}" if url not in ("", cache.url) else ""


def _describe_offline(source: str, answer: ServerAnswer) -> str:
    if source == "none":
        return "there is no baton in the local cache either"
    return f"baton from the local cache (updated_at {flat(answer.updated_at or 'unknown')})"


@_cache_command("write", "Write a document to a server, and to the cache.")
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
    """Write a whole document to a session-baton server, and to the local cache.

    Where the server cannot be reached it waits in the cache (`pending_upload`, exit status 0) and is sent the next
    time. Where somebody else wrote since it was read, both versions are compared, nothing is replaced, and the exit
    status is 3. Secrets are taken out before anything is stored or sent.

    \b
    baton cache write project:x --file baton.json --url http://127.0.0.1:9101
    jq '.baton' answer.json | baton cache write project:x --file -
    """
    baton = parse_object(read_bytes(file), where=file)
    redactions: list[Redaction] = []

    def tell(new: tuple[Redaction, ...]) -> None:
        redactions.extend(new)
        app.say(*(f"redacted: {redaction.kind} in {flat(redaction.path)}" for redaction in new))

    outcome = _keep_refused(lambda: write_baton(cache, namespace, baton, tell))
    data = outcome_data(outcome)
    if redactions:
        data["redactions"] = [redaction._asdict() for redaction in redactions]
    app.answer_json(data)
    if outcome.offline:
        app.say(f"baton: {outcome.offline}", "offline: it waits in the local cache and is sent the next time")
    tell_rest(app, outcome)
    return CONFLICT if outcome.clash else None


def _keep_refused(call: Callable[[], CacheOutcome]) -> CacheOutcome:
    """Run a write; add to an error of the server that the document waits in the cache."""
    try:
        return call()
    except Unreachable:
        raise
    except RemoteError as error:
        hint = f"{error.hint}; " if error.hint else ""
        raise type(error)(str(error), hint=f"{hint}the document waits in the local cache", **error.data) from error


@_cache_command("send", "Send what waits in the cache, or end a conflict.")
@click.argument("namespaces", nargs=-1, metavar="[NS]…")
@click.option("--all", "everything", is_flag=True, help="Everything that waits; the same as naming none.")
@click.option("--ours", is_flag=True, help="End a conflict: yours replaces the server's.")
@click.option("--theirs", is_flag=True, help="End a conflict: the server's replaces yours.")
@click.option("--merge", is_flag=True, help="End a conflict: both in one, by record and field.")
def send_command(
    app: App, cache: BatonCache, namespaces: tuple[str, ...], everything: bool, ours: bool, theirs: bool, merge: bool
) -> int | None:
    """Send what waits in the local cache, or end a conflict.

    A conflict that was not shown yet, or to which the server added since, is shown first, and nothing is replaced. A
    version that gives way is kept beside the cache, in `.baton/kept/`. Exit status 3 when a conflict is left, 1 when
    the server cannot be reached or something waits for another url: it is sent here once its NS is named.

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
        outcomes = [settle_conflict(cache, namespaces[0], cast("Choice", choice))]
    else:
        outcomes = list(_send_all(cache, list(namespaces) or list_waiting(cache)))
    elsewhere = [] if namespaces else list_waiting_elsewhere(cache)
    app.answer([outcome_data(outcome) for outcome in outcomes], "")
    if not outcomes:
        app.say(f"nothing waits to be sent to {cache.url}" if elsewhere else "nothing waits to be sent")
    for outcome in outcomes:
        app.say(*_describe_sent(outcome, choice))
        tell_rest(app, outcome)
    for name, url in elsewhere:
        app.say(f"{flat(name)}: waits for {flat(url)}", f"       {_suggest_send(cache, name)}")
    if any(outcome.clash for outcome in outcomes):
        return CONFLICT
    return FAILED if elsewhere or any(outcome.offline or outcome.refused for outcome in outcomes) else None


def _send_all(cache: BatonCache, names: list[str]) -> Iterator[CacheOutcome]:
    """Send one namespace after the other; stop when the server does not answer."""
    for name in names:
        outcome = send_waiting(cache, name)
        yield outcome
        if outcome.offline:
            return


def _describe_sent(outcome: CacheOutcome, choice: str | None) -> list[str]:
    name = flat(outcome.entry.note.namespace)
    if outcome.offline:
        return [f"baton: {outcome.offline}", f"{name}: it still waits in the local cache"]
    if outcome.refused is not None:
        hint = [f"       {outcome.refused.hint}"] if outcome.refused.hint else []
        return [f"baton: {outcome.refused}", *hint, f"{name}: it still waits in the local cache"]
    if outcome.clash:
        return []
    if outcome.taken:
        return [f"{name}: the server's was taken"]
    if choice is not None and not outcome.sent:
        return [f"{name}: nothing to settle, the server has the same"]
    return [f"{name}: {'sent' if outcome.sent else 'nothing waits'}"]


@_cache_command("status", "List what is in the local cache, and what waits.", asks=False)
def status_command(app: App, folder: CacheFolder) -> None:
    """List what is in the local cache: synced, waiting to be sent, or in conflict. Asks no server.

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
        app.say(f"{len(kept)} that had to make room, in {kept[0].parent}")


def _describe_listing(listing: CacheListing) -> dict[str, Any]:
    data: dict[str, Any] = {"namespace": listing.namespace or None, "file": listing.file}
    if listing.entry is None:
        return {**data, "status": "unknown", "why": listing.why}
    note, seen = listing.entry.note, listing.entry.note.seen
    data |= {"status": listing.entry.status, "url": note.url or None, "updated_at": seen.updated_at if seen else None}
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
        words.append(f"(its file name is that of {data['shared_with']}; kept in .baton)")
    return flat("  ".join([*words, *data.get("damaged", [])]))


COMMANDS = {
    "cache": group(
        "cache",
        "Use a session-baton server through a local cache, also while it is unreachable.",
        [read_command, write_command, send_command, status_command],
    )
}
