"""Command-line additions to the verb `outgoing`: its output."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git.core.output import count_noun
from baton_git.interfaces.cli.app import App, flat
from baton_git.interfaces.cli.verb_command import Addition
from baton_git.verbs.sharing.outgoing import OutgoingContent, OutgoingNamespace, OutgoingResult, name_kind_count

_INDENT = 14
_SHOWN_HELD = 10


def _render_outgoing(app: App, result: OutgoingResult) -> None:
    lines = [line for part in result.outgoing for line in (*_format_namespace(part), "")]
    app.answer(result.as_data(), "\n".join([*lines, *_format_held(result)]).rstrip("\n"))
    if any(part.commits for part in result.outgoing):
        app.say("nothing was sent; baton sync sends it, and baton outgoing --full shows every text")
    else:
        app.say("there is nothing to send")


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


ADDITIONS = {"outgoing": Addition(render=_render_outgoing)}
