"""The verb `outgoing`: what a sync would send to each remote, before it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import Field

from baton_git.core.errors import BatonError, NotAllowed
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.output import count_noun, flat, one_line
from baton_git.core.verb import READS, Input, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.remotes import mask_logins
from baton_git.namespace.branch import Branch
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.remote_selection import check_configured, find_remote_url, list_remote_names, select_remote
from baton_git.namespace.results import ResultPart
from baton_git.namespace.sync.outgoing import CONTENTS, History, SentContent, SentText, find_known_tips, read_outgoing
from baton_git.namespace.workspace import Workspace

SAMPLES, SAMPLE_LENGTH = 3, 80
NO_REMOTE = ""
"""The name of the remote in a preview without one: what the first sync would send to any remote."""


class OutgoingText(ResultPart):
    """A text that would be sent."""

    text: str = Field(description="The text.", examples=["Fix the login"])
    file: str = Field(description="The file on the branch; empty for a commit.", examples=["follow_ups/FU-1.toml"])
    field: str = Field(description="The field of the record, dotted if it is nested.", examples=["item"])
    commit: str = Field(description="The oldest commit with the text.")


class OutgoingContent(ResultPart):
    """One kind of content."""

    content: str = Field(description=f"The kind of content: {', '.join(CONTENTS)}.", examples=["prompts"])
    count: int = Field(description="Number of different texts.")
    bytes: int = Field(description="Their size together.")
    samples: list[str] = Field(description="The beginning of some of them.", examples=[["Fix the login"]])
    texts: list[OutgoingText] = Field([], description="With `full`: every text in full.")


class OutgoingNamespace(ResultPart):
    """What would be sent of one namespace to one remote."""

    namespace: str = Field(description="The namespace.", examples=["shop"])
    remote: str = Field(description="The remote; empty if none is configured.", examples=["origin"])
    address: str = Field(description="Its URL or path, without credentials.", examples=["git@example.org:x.git"])
    is_first: bool = Field(description="Whether the remote is not known to have the namespace.")
    is_automatic: bool = Field(description="Whether `boot` and `wrap` sync with it automatically.")
    commits: int = Field(description="Number of commits that the remote lacks.")
    files: int = Field(description="Number of new versions of files in them.")
    bytes: int = Field(description="Their size together, uncompressed.")
    kinds: dict[str, int] = Field(description="The number of them by kind of record.", examples=[{"follow_up": 2}])
    contents: list[OutgoingContent] = Field(description="The texts in them by kind of content.")
    summary: str = Field(description="The numbers in one line.", examples=["2 commits with 1 prompt and 1 answer"])


class HeldPlace(ResultPart):
    """A place in the history that has a path or the host name of this machine."""

    namespace: str = Field(description="The namespace.")
    commit: str = Field(description="The commit.")
    file: str = Field(description="The file on the branch; empty for the commit itself.")
    text: str = Field(description="The text around the path or name.", examples=["/home/ada/shop/a.py"])


class OutgoingResult(Result):
    """What a sync would send, by namespace and remote, as far as known without asking the remote."""

    outgoing: list[OutgoingNamespace] = Field(description="What would be sent.")
    held_count: int = Field(
        description="Number of places in the history, sent or not, with paths or the host name of this machine. The "
        "history is not rewritten."
    )
    held: list[HeldPlace] = Field(description="The first 100 of them for each namespace.")

    def show(self, reader: Reader) -> ResultView:
        lines = [line for part in self.outgoing for line in (*_format_namespace(part), "")]
        is_sent = any(part.commits for part in self.outgoing)
        note = "nothing was sent; baton sync sends it, and baton outgoing --full shows every text"
        return ResultView(
            "\n".join([*lines, *_format_held(self)]).rstrip("\n"), [note if is_sent else "there is nothing to send"]
        )


class OutgoingInput(Input):
    """The remote, and how much to show."""

    remote: str | None = Field(
        None, description="The name of a remote. The default is every configured one.", examples=["origin"]
    )
    all: bool = Field(False, description="Include all namespaces of this repository.")
    whole: bool = Field(False, description="Show the whole history, also what the remote is known to have already.")
    full: bool = Field(False, description="Return every text in full.")


@verb(
    "outgoing",
    "GET /v1/outgoing",
    effect=READS,
    anywhere=True,
    tag="sharing",
    refuses=(403,),
    positional=("remote",),
    examples=("baton outgoing", "baton outgoing origin --full", "baton outgoing --json"),
)
def show_outgoing(ws: Workspace, now: datetime, verb_input: OutgoingInput) -> OutgoingResult:
    """Show what a sync would send to each remote: prompts, answers, commands, paths, names of hosts and people.

    Nothing is sent, and no remote is asked. Older commits that have absolute paths or the host name of this machine are
    listed too.

    Raises:
        NotAllowed: the caller of a server has no token.
        NotFound: no remote of that name is configured.
        Corrupt: an object of the history cannot be read.
    """
    if ws.actor.is_unauthenticated:
        raise NotAllowed(
            "a server without a token does not show what would be sent",
            hint="start it with BATON_API_TOKEN, or run on its machine: baton outgoing",
        )
    named = check_configured(ws, verb_input.remote)
    remotes = [named] if named is not None else list(list_remote_names(ws)) or [NO_REMOTE]
    result = OutgoingResult(outgoing=[], held_count=0, held=[])
    held_count = 0
    for branch in _list_branches(ws, everything=verb_input.all):
        history = _read(branch, remotes, whole=verb_input.whole)
        name = str(branch.namespace)
        result.outgoing.extend(
            _describe(replace(ws, branch=branch), remote, history.sent[remote], full=verb_input.full)
            for remote in remotes
        )
        held_count += history.held_count
        result.held.extend(
            HeldPlace(namespace=name, commit=place.commit, file=place.file, text=place.text) for place in history.held
        )
    return result.model_copy(update={"held_count": held_count})


def _list_branches(ws: Workspace, *, everything: bool) -> list[Branch]:
    if not everything:
        return [ws.branch]
    branches = [replace(ws.branch, namespace=name) for name in list_namespaces(ws.branch.store, ws.branch.prefix)]
    tips = [(branch, branch.store.tip(branch.ref)) for branch in branches]
    return [branch for branch, tip in tips if tip is not None and branch.is_namespace(tip)] or [ws.branch]


def _read(branch: Branch, remotes: Sequence[str], *, whole: bool = False) -> History:
    known = {remote: [] if whole or not remote else find_known_tips(branch, remote) for remote in remotes}
    return read_outgoing(branch, known)


def describe_first_push(branch: Branch, remote: str, commits: int, *, is_planned: bool) -> str:
    """Return the line about the first push of a namespace to a remote: what it sends, and the command that shows it."""
    try:
        sent = _describe_numbers(_read(branch, [NO_REMOTE]).sent[NO_REMOTE], commits)
    except BatonError as error:
        sent = f"{count_noun(commits, 'commit')}, whose texts cannot be read ({error})"
    verb_form = "would send" if is_planned else "sent"
    return f"the first push to {remote} {verb_form} {sent}; to see it: baton outgoing --whole --full"


def _describe(ws: Workspace, remote: str, sent: SentContent, *, full: bool) -> OutgoingNamespace:
    known = find_known_tips(ws.branch, remote) if remote else []
    settings = ws.remote_settings
    chosen = settings.remote == remote or (bool(known) and select_remote(ws) == remote)
    return OutgoingNamespace(
        namespace=str(ws.branch.namespace), remote=remote,
        address=mask_logins(find_remote_url(ws, remote)) if remote else "",
        is_first=not known, is_automatic=bool(remote) and settings.sends and chosen,
        commits=sent.commits, files=sent.files, bytes=sent.size, kinds=sent.kinds,
        contents=[_describe_content(content, sent.texts[content], full=full) for content in CONTENTS],
        summary=_describe_numbers(sent, sent.commits),
    )  # fmt: skip


def _describe_content(content: str, texts: Sequence[SentText], *, full: bool) -> OutgoingContent:
    different = {text.text: text for text in reversed(texts)}
    newest_last = list(reversed(different.values()))
    part = OutgoingContent(
        content=content, count=len(different), bytes=sum(len(text.encode("utf-8", "replace")) for text in different),
        samples=[one_line(text.text, SAMPLE_LENGTH) for text in newest_last[-SAMPLES:]],
    )  # fmt: skip
    if not full:
        return part
    return part.model_copy(update={"texts": [
        OutgoingText(text=text.text, file=text.file, field=text.field, commit=text.commit) for text in newest_last
    ]})  # fmt: skip


_NOUNS = {
    "prompts": "prompt", "answers": "answer", "commands": "command", "paths": "path", "host names": "host name",
    "people": "person", "machines": "machine", "other texts": "other text",
}  # fmt: skip


def _describe_numbers(sent: SentContent, commits: int) -> str:
    counts = {content: len({text.text for text in texts}) for content, texts in sent.texts.items()}
    nouns = [_count(count, _NOUNS[content]) for content, count in counts.items() if count]
    return f"{count_noun(commits, 'commit')} with {', '.join(nouns) or 'no text'}"


def _count(count: int, noun: str) -> str:
    return f"{count} people" if noun == "person" and count != 1 else count_noun(count, noun)


def name_kind_count(kind: str, count: int) -> str:
    """Return a number of versions of records in words: `2 follow-ups`; of other files: `1 other file`."""
    return f"{count} {ALL_KINDS[kind].name(count)}" if kind in ALL_KINDS else count_noun(count, "other file")


# --- what people read

_INDENT = 14
_SHOWN_HELD = 10


def _format_namespace(part: OutgoingNamespace) -> Iterator[str]:
    remote = f"{part.remote} ({part.address})" if part.remote else "no remote yet (git remote add origin URL)"
    yield flat(f"{part.namespace} to {remote}")
    if not part.commits:
        yield "  nothing: there are no commits yet" if part.is_first else "  nothing: it has all commits"
        return
    notes = ["never sent there before"] if part.is_first else []
    notes += ["boot and wrap sync with it automatically"] if part.is_automatic else []
    size = f"{count_noun(part.commits, 'commit')}, {count_noun(part.files, 'file')}, {count_noun(part.bytes, 'byte')}"
    yield f"  {size} ({'; '.join(notes)})" if notes else f"  {size}"
    kinds = ", ".join(name_kind_count(kind, count) for kind, count in sorted(part.kinds.items(), reverse=True))
    yield f"  {'records':<{_INDENT}}{kinds}"
    for content in part.contents:
        if content.count:
            yield from _format_content(content)


def _format_content(content: OutgoingContent) -> Iterator[str]:
    texts = f"{content.count}, {count_noun(content.bytes, 'byte')}"
    samples = "" if content.texts else f": {' | '.join(flat(sample) for sample in content.samples)}"
    yield f"  {content.content:<{_INDENT}}{texts}{samples}"
    for text in content.texts:
        place = f"{text.file}: {text.field}" if text.file else f"commit {text.commit[:10]}"
        yield f"    [{flat(place)}]"
        yield from (f"      {flat(line)}" for line in text.text.splitlines())


def _format_held(result: OutgoingResult) -> Iterator[str]:
    if not result.held_count:
        return
    places = count_noun(result.held_count, "place")
    yield f"{places} in the history with a path or the host name of this machine (to purge them: docs/purging.md)"
    for place in result.held[:_SHOWN_HELD]:
        where = place.file or "author or trailer"
        yield f"  {place.commit[:10]}  {flat(f'{where}: {place.text}')}"
    if result.held_count > _SHOWN_HELD:
        yield "  …"
